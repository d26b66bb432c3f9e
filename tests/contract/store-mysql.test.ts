import { mysql } from "../../src/mysql.ts";
import { onServer } from "./store-servers.ts";
import { storeContract } from "./store/all.ts";
import { equalitySuite } from "./store/equality.ts";

const makeStore = onServer("mysql", mysql);

storeContract("MysqlStore", makeStore);
equalitySuite("MysqlStore", makeStore, 50);
