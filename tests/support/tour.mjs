// A tour by the JavaScript client: node tour.mjs FOLDER_OF_THE_CLIENT URL [URL]; what it has seen is a line of JSON.
import { pathToFileURL } from "node:url";

const [folder, url, other = url] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${folder}/dist/index.js`).href);
const [here, there] = [url, other].map((apiUrl) => new Client({ apiUrl }));
const asking = (content) => ({ messages: [{ role: "user", content }] });
const context = { role: "ada" };

const assistants = await here.assistants.search({ limit: 100 });
const talk = assistants.find((one) => one.graph_id === "amadeus");
const schemas = await there.assistants.getSchemas(talk.assistant_id);

const { thread_id: thread } = await here.threads.create();
const events = {};
let streamed = "";
const stream = here.runs.stream(thread, "amadeus", {
  input: asking("Do storms frighten you?"),
  context,
  streamMode: ["messages-tuple", "updates", "custom"],
});
for await (const { event, data } of stream) {
  events[event] = (events[event] ?? 0) + 1;
  if (event === "messages" && data[0].type === "AIMessageChunk") streamed += data[0].content;
}

const second = await there.runs.wait(thread, "amadeus", { input: asking("And the fog?"), context });
const history = await here.threads.getHistory(thread, { limit: 100 });
const state = await there.threads.getState(thread);
const before = history.find((one) => one.next.includes("begin_selection"));
const again = await there.runs.wait(thread, "amadeus", { input: null, context, checkpoint: before.checkpoint });

let refused = 0;
try {
  await here.runs.wait(null, "amadeus", { input: asking("Hello?"), context: { role: "ada", library: "elsewhere" } });
} catch (error) {
  refused = error.status;
}

console.log(
  JSON.stringify({
    settings: Object.keys(schemas.context_schema.properties),
    events,
    streamed,
    said: second.messages.map((one) => [one.type, one.content]),
    kept: state.values.messages.length,
    checkpoints: history.length,
    again: again.messages.length,
    refused,
  }),
);
