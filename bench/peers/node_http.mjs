// Node's http module. Run as `node node_http.mjs PORT`; BENCH_KEYS is a file of keys.

import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const MODEL = "vendor-cabinet-preview-echo";
const MAX_BODY = 32768;
const MAX_CONTENT = 8192;
const digest = (key) => createHash("sha256").update(key).digest("hex");
const KEYS = new Set(
  readFileSync(process.env.BENCH_KEYS, "utf8").trim().split("\n").map(digest),
);
const MODELS = JSON.stringify({
  object: "list",
  data: [{ id: MODEL, object: "model", owned_by: "vendor" }],
});

class Refused extends Error {
  constructor(status, code) {
    super(code);
    this.status = status;
  }
}

function refuseIf(broken, status, code) {
  if (broken) throw new Refused(status, code);
}

function checkHead(request) {
  const endpoint = `${request.method} ${request.url}`;
  const known = ["GET /v1/models", "POST /v1/chat/completions"].includes(endpoint);
  refuseIf(!known, 404, "not_found");
  const [scheme, key = ""] = (request.headers.authorization ?? "").split(" ");
  const accepted = scheme.toLowerCase() === "bearer" && KEYS.has(digest(key));
  refuseIf(!accepted, 401, "invalid_key");
}

async function bodyOf(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    refuseIf(size > MAX_BODY, 413, "request_too_large");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function checkFields(found, required, optional) {
  const isObject = typeof found === "object" && found && !Array.isArray(found);
  refuseIf(!isObject, 400, "invalid_json");
  const allowed = [...required, ...optional];
  const unknown = Object.keys(found).some((name) => !allowed.includes(name));
  refuseIf(unknown, 400, "unknown_field");
  refuseIf(!required.every((name) => name in found), 400, "missing_field");
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function read(body) {
  let chat;
  try {
    chat = JSON.parse(utf8.decode(body));
  } catch {
    throw new Refused(400, "invalid_json");
  }
  checkFields(chat, ["model", "messages"], ["stream", "max_tokens"]);
  refuseIf(chat.model !== MODEL, 400, "invalid_model");
  const { messages, stream = false, max_tokens: maxTokens = 2000 } = chat;
  const isOne = Array.isArray(messages) && messages.length === 1;
  refuseIf(!isOne, 400, "invalid_messages");
  checkFields(messages[0], ["role", "content"], []);
  const { role, content } = messages[0];
  refuseIf(role !== "user", 400, "invalid_role");
  refuseIf(typeof content !== "string", 400, "invalid_content");
  refuseIf(content === "", 400, "empty_content");
  refuseIf(Buffer.byteLength(content) > MAX_CONTENT, 400, "content_too_large");
  refuseIf(stream !== false, 400, "stream_unavailable");
  refuseIf(maxTokens !== 2000, 400, "invalid_max_tokens");
  return content;
}

function completion(content) {
  const tokens = Math.ceil(Buffer.byteLength(content) / 4);
  const message = { role: "assistant", content };
  return JSON.stringify({
    id: randomUUID(),
    object: "chat.completion",
    created: Math.floor(Date.now() / 1000),
    model: MODEL,
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: {
      prompt_tokens: tokens,
      completion_tokens: tokens,
      total_tokens: 2 * tokens,
    },
  });
}

async function answer(request) {
  checkHead(request);
  if (request.method === "GET") return MODELS;
  const type = (request.headers["content-type"] ?? "").split(";")[0].trim();
  refuseIf(type.toLowerCase() !== "application/json", 415, "unsupported_media_type");
  return completion(read(await bodyOf(request)));
}

function send(response, status, body) {
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}

createServer((request, response) => {
  answer(request).then(
    (body) => send(response, 200, body),
    (refused) =>
      send(
        response,
        refused.status ?? 500,
        JSON.stringify({ error: { code: refused.message } }),
      ),
  );
}).listen(Number(process.argv[2]), "127.0.0.1");
