/** Schedules, and jobs that run alone, are instances too; lists show them only when asked. */
export function isSystemWorkflow(name: string): boolean {
  return name.startsWith("heddle.");
}
