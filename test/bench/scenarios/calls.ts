import { isDeepStrictEqual } from "node:util";
import { makeDataFile } from "../ground/data-file.ts";
import { addPlot } from "../ground/plots.ts";
import { makePostgresGround } from "../ground/postgres-ground.ts";
import { fire } from "../load/fire.ts";
import { askModern, openSession, type HttpSession } from "../load/http-tools.ts";
import { summarize, type Sample } from "../load/measure.ts";
import { noDearer, type Finding, type Target } from "../results/finding.ts";
import { bundleBare, type Said } from "../servers/bundle-bare.ts";
import { serve, startServer, type Server } from "../servers/http-server.ts";
import { readResult, startStdio, type StdioServer } from "../servers/stdio-server.ts";
import { takeBoth } from "../take-both.ts";
import type { Extent, Rounds, Subject } from "./scenario.ts";

/**
 * get_link of a warm server beside a bare server of the same SDK with as many tools, which answers
 * the same bytes: one call after the other, and many at once.
 */

const perSecond = 500;
const crowd = 32;
/** Of a bare server's, over HTTP. */
const leastRate = 0.7;
const link = { path: "spring", url: "https://www.example.com/spring" };

export async function* measureStdioCalls({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  using bundled = await bundleBare("stdio");
  const words = [build.command, "stdio", "--data", file.folder, "--log", "error"];
  await using legacy = await startStdio(words, { revision: "2025-11-25" });
  const { id, said } = await prepareLink(async (method, params) => {
    return readResult(await legacy.ask(method, params));
  });
  await using modern = await startStdio(words, { revision: "2026-07-28" });
  await using bareLegacy = await startStdio(bundled.words(said), { revision: "2025-11-25" });
  await using bareModern = await startStdio(bundled.words(said), { revision: "2026-07-28" });
  const call = (server: StdioServer) => callOverStdio(server, id);
  yield* comparePairs(
    [
      { what: "2025-11-25", ours: call(legacy), bare: call(bareLegacy) },
      { what: "2026-07-28", ours: call(modern), bare: call(bareModern) },
    ],
    { extent, target: { most: 1.5 }, rate: {}, byPath: callOverStdio(legacy, link.path) },
  );
}

export async function* measureHttpCalls({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const { keys } = await addPlot(file, "calls", 1);
  await using ours = await serve(build, file.folder);
  yield* compareHttp(ours, keys, { extent, target: {}, rate: { least: leastRate } });
}

/** The database would need a core of its own: what counts is what the process itself takes. */
export async function* measurePostgresCalls({ build, extent }: Subject): Rounds {
  await using ground = await makePostgresGround(build);
  const { keys } = await ground.addPlot("calls", 1);
  await using ours = await serve(build, ground.folder, ground.words);
  yield* compareHttp(ours, keys, { extent, target: { most: 1 / leastRate }, rate: {} });
}

async function* compareHttp(
  ours: Server,
  [key = ""]: readonly string[],
  wanted: Omit<Comparing, "byPath">,
): Rounds {
  using bundled = await bundleBare("http");
  const modern = askModern(ours, key);
  const { id, said } = await prepareLink(modern.ask);
  await using bare = await startServer(bundled.words(said));
  const call = (server: Server, session: HttpSession) => callOverHttp(server, session, id);
  yield* comparePairs(
    [
      {
        what: "2025-11-25",
        ours: call(ours, await openSession(ours, key)),
        bare: call(bare, await openSession(bare, key)),
      },
      { what: "2026-07-28", ours: call(ours, modern), bare: call(bare, askModern(bare, key)) },
    ],
    { ...wanted, byPath: callOverHttp(ours, modern, link.path) },
  );
}

/** Makes the link, and reads what a bare server has to have and to say. */
async function prepareLink(
  // The bench reads results as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  ask: (method: string, params?: object) => Promise<any>,
): Promise<{ readonly id: string; readonly said: Said }> {
  const { tools } = await ask("tools/list");
  const names = tools.map(({ name }: { readonly name: string }) => name);
  const made = await ask("tools/call", { name: "create_link", arguments: link });
  const { id } = made.structuredContent.link;
  const result = pickGiven(await ask("tools/call", { name: "get_link", arguments: { id } }));
  return { id, said: { names, result } };
}

/** Calls a tool so many times, so many of them at once. */
type Callee = {
  readonly call: (many: number, count: number) => Promise<Sample>;
  readonly read: () => Promise<unknown>;
};

function callOverStdio(server: StdioServer, id: string): Callee {
  const params = { name: "get_link", arguments: { id } };
  const read = async () => readResult(await server.ask("tools/call", params));
  return {
    read,
    call: async (many, count) => {
      const times_ms: number[] = [];
      let left = count;
      const work = async () => {
        while (left > 0) {
          left -= 1;
          const started = performance.now();
          await read();
          times_ms.push(performance.now() - started);
        }
      };
      const before_us = server.readCpu_us();
      const started = performance.now();
      await Promise.all(Array.from({ length: many }, work));
      const elapsed_ms = performance.now() - started;
      return { times_ms, cpu_us: server.readCpu_us() - before_us, elapsed_ms };
    },
  };
}

function callOverHttp(server: Server, session: HttpSession, id: string): Callee {
  const params = { name: "get_link", arguments: { id } };
  const questions = () => session.write("tools/call", params);
  return {
    read: () => session.ask("tools/call", params),
    call: (connections, requests) =>
      fire(server, { connections, requests, status: 200, questions }),
  };
}

type Pair = { readonly what: string; readonly ours: Callee; readonly bare: Callee };

type Comparing = {
  readonly extent: Extent;
  readonly target: Target;
  /** What the rate beside the bare tool's must be. */
  readonly rate: Target;
  /** The same link of ours by its name, which is looked up first. */
  readonly byPath: Callee;
};

async function* comparePairs(
  pairs: readonly Pair[],
  { extent, target, rate, byPath }: Comparing,
): Rounds {
  for (const { ours, bare } of pairs) {
    const [said, expected] = [pickGiven(await ours.read()), pickGiven(await bare.read())];
    if (!isDeepStrictEqual(said, expected)) throw new Error("the bare one differs");
    const half = Math.ceil(extent.warming / 2);
    for (const callee of [ours, bare]) {
      for (const many of [1, crowd]) await callee.call(many, half);
    }
  }
  // The server is warm already but for looking the name up.
  await byPath.call(1, Math.ceil(extent.warming / 4));
  const count = perSecond * extent.seconds;
  for (let round = 0; ; round += 1) {
    const findings: Finding[] = [];
    for (const pair of pairs) {
      for (const many of [1, crowd]) {
        findings.push(...(await measurePair(pair, { many, count, target, rate, round })));
      }
    }
    const { cpu_us } = summarize(await byPath.call(1, count));
    yield [...findings, { what: "by its path, CPU", unit: "µs", value: cpu_us, target: noDearer }];
  }
}

type Turn = {
  readonly many: number;
  readonly count: number;
  readonly target: Target;
  readonly rate: Target;
  readonly round: number;
};

async function measurePair(
  { what, ours, bare }: Pair,
  { many, count, target, rate, round }: Turn,
): Promise<readonly Finding[]> {
  const measure = async (callee: Callee) => summarize(await callee.call(many, count));
  const [figures, beside] = await takeBoth(
    round,
    () => measure(ours),
    () => measure(bare),
  );
  const named = many === 1 ? what : `${what}, ${many} at once`;
  return [
    { what: `${named}, CPU`, unit: "µs", value: figures.cpu_us, target: noDearer },
    {
      what: `${named}, CPU of the bare tool`,
      unit: "times",
      value: figures.cpu_us / beside.cpu_us,
      target,
    },
    { what: `${named}, p50`, unit: "ms", value: figures.p50_ms },
    {
      what: `${named}, rate of the bare tool`,
      unit: "times",
      value: figures.per_second / beside.per_second,
      target: rate,
    },
  ];
}

/** What a tool has said, without what a server adds of itself. */
function pickGiven(result: unknown) {
  // Whatever a tool answers has these two.
  const { content, structuredContent } = result as Said["result"];
  return { content, structuredContent };
}
