import { runBare } from "./ceiling.ts";
import { loadRecording } from "./recording.ts";
import { storageAt } from "./storages/storage-at.ts";

// Runs the recording once for each message, and answers with the times. Ends when its parent lets go of it.
const [place = "", recordingFile = "", copyOf] = process.argv.slice(2);
const storage = storageAt(place);
const recording = loadRecording(recordingFile);

process.on("message", () => void answer());

async function answer(): Promise<void> {
  process.send?.(await storage.inDatabase((address) => runBare(storage, address, recording), copyOf));
}
