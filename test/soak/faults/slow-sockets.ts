import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { ask } from "../../bench/load/ask.ts";
import { askModern } from "../../bench/load/http-tools.ts";
import { watchWhile } from "../../bench/load/watch.ts";
import { createRing } from "../../bench/ring.ts";
import { createVisit } from "../../bench/scenarios/redirects.ts";
import { atMost, holds, note } from "../check.ts";
import type { Fault } from "../fault.ts";

/** Many who take very long to say what they want, and one who does not. */
export const slowSockets: Fault = {
  name: "slow-sockets",
  what: "500 slow sockets, and a good client beside them",
  engines: ["sqlite"],
  play: async ({ openSite, scale, judge }) => {
    await using site = await openSite();
    const { keys, subdomain } = await site.addPlot("slow", 1);
    await using server = await site.serve();
    const [token = ""] = keys;
    const body = { path: "known", url: "https://example.com/" };
    await ask(server, { method: "POST", path: "/api/v1/links", token, body });
    const params = { name: "get_link", arguments: { id: "known" } };
    const next = createRing([
      { path: "/api/v1/links?limit=5", token },
      askModern(server, token).write("tools/call", params),
      createVisit(server, subdomain)("known"),
    ]);
    const sockets = scale(500, 40);
    const slow = Array.from({ length: sockets }, (_, turn) => openSlow(server.url, turn));
    // Longer than the slowest may take for a request.
    const { waited } = await watchWhile(server, { next, every_ms: 5 }, () =>
      setTimeout(scale(40_000, 1000)),
    );
    const closed = slow.filter(({ isClosed }) => isClosed()).length;
    for (const { end } of slow) end();
    return [
      note("slow sockets", sockets),
      atMost("the good client, p50", waited.p50_ms, "ms", undefined),
      atMost("the good client, p99", waited.p99_ms, "ms", judge(500)),
      ...(judge(0) === undefined
        ? []
        : [holds("slow ones closed by the server", closed === sockets, `${closed}`)]),
    ];
  },
};

const places = ["GET /api/v1/links", "POST /mcp", "GET /known", "POST /api/v1/links"];

/** Half of them never come to the end of their headers, half not to that of their body. */
function openSlow(url: string, turn: number) {
  const { host, hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const head = `${places[turn % places.length]} HTTP/1.1\r\nhost: ${host}\r\n`;
  const text =
    turn % 2 === 0
      ? `${head}x-slow: ${"a".repeat(1000)}`
      : `${head}content-type: application/json\r\ncontent-length: 1000\r\n\r\n${" ".repeat(1000)}`;
  let [said, isClosed] = [turn % 2 === 0 ? 10 : text.length - 1000, false];
  socket.on("connect", () => socket.write(text.slice(0, said)));
  const saying = setInterval(() => {
    if (socket.writable) socket.write(text.charAt(said));
    said += 1;
  }, 500);
  const end = () => {
    clearInterval(saying);
    socket.destroy();
  };
  // What it is told is read, for else its end is not noticed.
  socket.resume().on("error", () => undefined);
  socket.on("close", () => {
    isClosed = true;
    end();
  });
  return { isClosed: () => isClosed, end };
}
