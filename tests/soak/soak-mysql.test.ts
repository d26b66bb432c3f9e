import { soakSuite } from "./soak-suite.ts";

soakSuite("mysql");
