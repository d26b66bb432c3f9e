import { postgres } from "../../src/postgres.ts";
import { onServer } from "./store-servers.ts";
import { storeContract } from "./store/all.ts";
import { equalitySuite } from "./store/equality.ts";

const makeStore = onServer("postgres", postgres);

storeContract("PostgresStore", makeStore);
equalitySuite("PostgresStore", makeStore, 50);
