import { unreachable } from "../../base/assert.ts";
import type { Column, ColumnList } from "../sql/columns.ts";
import { bigints, booleans, texts } from "./array-parameter.ts";
import type { WireValue } from "./pipeline.ts";

/** Every column of the items as one array parameter. */
export function arraysOf<Item>(columns: ColumnList<Item>, items: readonly Item[]): WireValue[] {
  return columns.map((column) => arrayOf(column, items));
}

function arrayOf<Item>(column: Column<Item>, items: readonly Item[]): WireValue {
  switch (column.type) {
    case "text":
      return texts(items, column.of);
    case "integer":
      return bigints(items, column.of);
    case "boolean":
      return booleans(items, column.of);
    default:
      return unreachable(column, "the type of a column");
  }
}
