import { join } from "node:path";
import { runBare } from "./ceiling.ts";
import { copyDatabase, inFolder } from "./folder.ts";
import { loadRecording } from "./recording-store.ts";

// Runs the recording once for each message, and answers with the times. Ends when its parent lets go of it.
const [recordingFile = "", startFile] = process.argv.slice(2);
const recording = loadRecording(recordingFile);

process.on("message", () => void answer());

async function answer(): Promise<void> {
  const times = await inFolder((folder) => {
    const file = join(folder, "bare.db");
    if (startFile !== undefined) copyDatabase(startFile, file);
    return runBare(file, recording);
  });
  process.send?.(times);
}
