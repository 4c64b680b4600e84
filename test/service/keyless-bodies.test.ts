import { randomBytes } from "node:crypto";
import { request, type ClientRequest } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import { answerOverHttp } from "../../src/service/http.ts";
import { issueClientKey } from "../../src/service/keys.ts";
import { serveApi, createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests how much the API reads from clients without a valid secret key. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const mostBytes = 64 * 1024;
const resolvePath = "/short_links/resolve";

type BodyResponse = { readonly status: number | undefined; readonly text: string };

async function serve(world: World) {
  const { port, server } = await serveApi(answerOverHttp(world.answer, world.clock));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const begin = (path: string, headers: Record<string, string> = {}, from = "127.0.0.1") => {
    const sent = request({
      port,
      localAddress: from,
      path: `${apiPrefix}${path}`,
      method: "POST",
      agent: false,
      headers: { "content-type": "application/json", ...headers },
    });
    onTestFinished(() => void sent.destroy());
    sent.on("error", () => undefined).flushHeaders();
    return sent;
  };
  return {
    begin,
    beginMany: (count: number) => Array.from({ length: count }, () => beginSlow(begin)),
  };
}

/** Sends the headers and the first byte of a body that never ends. */
function beginSlow(begin: (path: string) => ClientRequest): ClientRequest {
  const sent = begin(resolvePath);
  sent.write("{");
  return sent;
}

function readAnswer(sent: ClientRequest): Promise<BodyResponse> {
  return new Promise((resolve) => {
    sent.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.once("end", () => resolve({ status: response.statusCode, text }));
    });
  });
}

function waitForAnswers(
  requests: readonly ClientRequest[],
  count: number,
): Promise<ReadonlyMap<ClientRequest, BodyResponse>> {
  const answers = new Map<ClientRequest, BodyResponse>();
  return new Promise((resolve) => {
    for (const sent of requests) {
      void readAnswer(sent).then((answer) => {
        if (answers.set(sent, answer).size === count) resolve(answers);
      });
    }
  });
}

test("a request body sent without a secret key is limited to 64 KB", async () => {
  const { begin } = await serve(world);
  const maker = { clock: world.clock, random: { bytes: randomBytes } };
  const wanted = { project_id: world.project.id };
  const { token } = await world.store.write((db) => issueClientKey(db, maker, wanted));
  const client = { authorization: `Token ${token}` };
  for (const [path, headers] of [
    [resolvePath, {}],
    ["/links/attribute", client],
    ["/fingerprints/match", client],
  ] as const) {
    const declared = begin(path, { ...headers, "content-length": String(mostBytes + 1) });
    const error = messages.keyless_too_large;
    expect(await readAnswer(declared)).toEqual({ status: 413, text: JSON.stringify({ error }) });
    const undeclared = begin(path, headers);
    undeclared.write("k".repeat(mostBytes + 1));
    expect((await readAnswer(undeclared)).status).toBe(413);
  }
  const whole = begin(resolvePath);
  const answer = readAnswer(whole);
  whole.end(JSON.stringify({ url: "http://a.example/b" }).padEnd(mostBytes));
  expect((await answer).status).toBe(404);
  const known = begin("/links", { authorization: `Token ${world.key}` });
  const made = readAnswer(known);
  known.end("{}".padEnd(mostBytes + 1));
  expect((await made).status).toBe(201);
});

test("the API holds at most 32 incomplete request bodies sent without a secret key", async () => {
  const { begin, beginMany } = await serve(world);
  const slow = beginMany(40);
  const refused = await waitForAnswers(slow, 8);
  expect([...refused.values()].map(({ status }) => status)).toEqual(Array(8).fill(503));
  // Complete bodies and bodies with a secret key do not count toward the limit.
  const whole = begin(resolvePath);
  const answer = readAnswer(whole);
  whole.end(JSON.stringify({ url: "http://a.example/b" }));
  expect((await answer).status).toBe(404);
  const known = begin("/links", { authorization: `Token ${world.key}` });
  known.write("{");
  const made = readAnswer(known);
  known.end("}");
  expect((await made).status).toBe(201);
});

test("a 33rd unfinished request ends one older than two seconds with a 503", async () => {
  const { beginMany } = await serve(world);
  const old = beginMany(33);
  const [late] = (await waitForAnswers(old, 1)).keys();
  const held = old.filter((sent) => sent !== late);
  world.advance(2001);
  const ended = waitForAnswers(held, 1);
  const [newcomer] = beginMany(1);
  expect([...(await ended).values()].map(({ status }) => status)).toEqual([503]);
  const answer = newcomer && readAnswer(newcomer);
  newcomer?.end('"url":"http://a.example/b"}');
  expect((await answer)?.status).toBe(404);
});

test("32 unfinished requests from one IP address do not block requests from another", async () => {
  const { begin, beginMany } = await serve(world);
  const slow = beginMany(32);
  const ended = waitForAnswers(slow, 1);
  const other = begin(resolvePath, {}, "127.0.0.2");
  other.write("{");
  expect([...(await ended).values()].map(({ status }) => status)).toEqual([503]);
  const answer = readAnswer(other);
  other.end('"url":"http://a.example/b"}');
  expect((await answer).status).toBe(404);
});
