/** Around queries that are to see the same moment. */
export const oneMoment = {
  begin: ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY"],
  end: ["COMMIT"],
} as const;
