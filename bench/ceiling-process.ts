import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { runBare } from "./ceiling.ts";
import { inFolder } from "./folder.ts";
import { loadRecording } from "./recording-store.ts";

/** Runs the recording once for each message it gets, and answers with the times. Ends when its parent lets go of it. */
const [recordingFile, startFile] = process.argv.slice(2);
if (recordingFile === undefined) throw new Error("which recording?");
const recording = loadRecording(recordingFile);

process.on("message", () => {
  inFolder((folder) => {
    const file = join(folder, "bare.db");
    if (startFile !== undefined) copyDatabase(startFile, file);
    process.send?.(runBare(file, recording));
  });
});

/** With the log of a process that was killed, which holds what was written last. */
function copyDatabase(from: string, to: string): void {
  for (const part of ["", "-wal"]) if (existsSync(from + part)) copyFileSync(from + part, to + part);
}
