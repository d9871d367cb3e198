/* Scripted model: a Chat Completions server on localhost. Each line `CALL <tool> <arguments as JSON>` of a task is a turn that calls the tool; the final turn answers with the line that begins with `SAY`. */

import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Message {
  role: string;
  content: unknown;
}

export interface Model {
  readonly address: string;
  stop: () => Promise<void>;
}

export async function startModel(): Promise<Model> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => answer(body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, stop: () => stopped(server) };
}

function stopped(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

function answer(body: string, response: ServerResponse) {
  const { messages = [] } = JSON.parse(body === "" ? "{}" : body) as { messages?: Message[] };
  const task = messages
    .filter(({ role }) => role === "user")
    .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))
    .join("\n");
  const done = messages.filter(({ role }) => role === "tool").length;
  const calls = [...task.matchAll(/^CALL (\w+) (.*)$/gm)];
  const call = calls[done];
  const words = /^SAY (.*)$/m.exec(task)?.[1] ?? "ROUTINE_OK";
  const delta = call
    ? {
        tool_calls: [
          { index: 0, id: `call-${done}`, type: "function", function: { name: call[1], arguments: call[2] } },
        ],
      }
    : { content: words };
  response.setHeader("content-type", "text/event-stream");
  say(response, { choices: [{ index: 0, delta, finish_reason: null }] });
  say(response, { choices: [{ index: 0, delta: {}, finish_reason: call ? "tool_calls" : "stop" }] });
  say(response, { choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } });
  response.end("data: [DONE]\n\n");
}

function say(response: ServerResponse, chunk: Record<string, unknown>) {
  response.write(
    `data: ${JSON.stringify({ id: "answer", object: "chat.completion.chunk", model: "told", ...chunk })}\n\n`,
  );
}
