// A chat by the hook useStream, called as agent-chat-ui calls it: node chat.mjs FOLDER URL ASSISTANT QUESTION…
// It asks the questions one after another, and approves of what is asked back. Each new text that is shown of a reply is
// a line of JSON, {"shown": TEXT}; the last line is what there was to see in the end.
import { createRequire } from "node:module";

const [folder, apiUrl, assistantId, ...questions] = process.argv.slice(2);
const from = createRequire(`${folder}/package.json`);
const React = from("react");
const { create } = from("react-test-renderer");
const { useStream } = from("@langchain/langgraph-sdk/react");

const seen = { events: [], asked: [], errors: [] };
let stream;
let shown = "";

function Chat() {
  const [threadId, onThreadId] = React.useState(null);
  stream = useStream({
    apiUrl,
    assistantId,
    threadId,
    onThreadId,
    fetchStateHistory: true,
    onCustomEvent: (event) => seen.events.push(event),
    onError: (error) => seen.errors.push(String(error)),
  });
  const last = stream.messages.at(-1);
  if (last?.type === "ai" && last.content !== shown) {
    shown = last.content;
    console.log(JSON.stringify({ shown }));
  }
  return null;
}

async function submit(values, options) {
  await stream.submit(values, options);
  while (stream.isLoading) await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => setTimeout(resolve, 20)); // what was fetched at its end is shown
}

create(React.createElement(Chat));
while (!stream) await new Promise((resolve) => setTimeout(resolve, 20));
for (const text of questions) {
  const said = { id: crypto.randomUUID(), type: "human", content: [{ type: "text", text }] };
  const how = { streamMode: ["values"], streamSubgraphs: true, streamResumable: true };
  const optimisticValues = (before) => ({ ...before, messages: [...(before.messages ?? []), said] });
  await submit({ messages: [said], context: undefined }, { ...how, optimisticValues });
  if (stream.interrupt) {
    seen.asked.push(stream.interrupt.value);
    const decisions = stream.interrupt.value.action_requests.map(() => ({ type: "approve" }));
    await submit({}, { command: { resume: { decisions } } });
  }
}
const { messages, ...values } = stream.values;
const said = messages.map((one) => [one.type, one.content]);
console.log(JSON.stringify({ ...seen, said, values, waits: stream.interrupt ?? null }));
process.exit(0);
