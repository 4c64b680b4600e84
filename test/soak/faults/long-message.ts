import { connect } from "node:net";
import { ask } from "../../bench/load/ask.ts";
import { spell, type Question } from "../../bench/load/ask.ts";
import { modernCall } from "../../support/mcp-post.ts";
import { callOf, startRaw } from "../../support/mcp-raw.ts";
import { atMost, none, note } from "../check.ts";
import type { Fault } from "../fault.ts";

/** Messages that are longer than any may be. */
export const longMessage: Fault = {
  name: "long-message",
  what: "messages of 10 MB, over HTTP and over stdio",
  engines: ["sqlite"],
  play: async ({ openSite, scale, judge }) => {
    await using site = await openSite();
    const { keys } = await site.addPlot("long", 1);
    const said: string[] = [];
    const [token = ""] = keys;
    const answers: string[] = [];
    const count = scale(50, 2);
    let peak_mb = 0;
    {
      await using server = await site.serve();
      const body = { name: "x".repeat(length) };
      const { headers, body: text } = modernCall(token, 1, "create_link", body);
      const questions: Question[] = [
        { method: "POST", path: "/mcp", headers, text },
        { method: "POST", path: "/api/v1/links", token, body },
      ];
      for (const question of questions) {
        for (const isChunked of [false, true]) {
          const sent = Array.from({ length: count }, () => send(server.url, question, isChunked));
          answers.push(...(await Promise.all(sent)).filter((line) => !/ 413 /.test(line)));
        }
      }
      const { status } = await ask(server, { path: "/api/v1/links", token });
      if (status !== 200) said.push(`HTTP: ${status}`);
      peak_mb = server.readPeak_mb();
    }
    {
      await using session = startRaw({ data: site.folder });
      await session.handshake();
      const call = JSON.stringify({ ...callOf(1, "list_links"), params: "x".repeat(length) });
      const heard = await session.exchange(...Array.from({ length: scale(20, 1) }, () => call));
      const strange = heard.filter(({ id, error }) => id !== 1 || error?.code !== -32_600);
      answers.push(...strange.map((message) => JSON.stringify(message)));
      session.child.stdin?.end();
      const code = await session.ended;
      if (code !== 0) said.push(`stdio ended with ${code}`);
    }
    return [
      note("over HTTP, at once", count),
      none("answered otherwise than that it is too long", answers),
      none("what came afterwards and failed", said),
      atMost("memory at its highest", peak_mb, "MB", judge(512)),
    ];
  },
};

const length = 10_000_000;

/** The first line of what comes; who is refused has not sent all of it by then. */
function send(url: string, question: Question, isChunked: boolean): Promise<string> {
  const { host, hostname, port } = new URL(url);
  const { method, path, headers, body = "" } = spell(question);
  const framing = isChunked
    ? "transfer-encoding: chunked"
    : `content-length: ${Buffer.byteLength(body)}`;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${path} HTTP/1.1`, `host: ${host}`, ...lines, framing].join("\r\n");
  const content = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("connect", () => socket.write(`${head}\r\n\r\n${content}`));
    socket.setEncoding("latin1").on("data", (text: string) => {
      heard += text;
      if (heard.includes("\r\n")) socket.destroy();
    });
    socket.on("error", (error) => (heard ||= error.message));
    socket.on("close", () => resolve(heard.split("\r\n")[0] ?? ""));
  });
}
