import { findFreePort } from "../../support/ports.ts";
import { command } from "../subject.ts";
import { makeDataFile } from "../data/data-file.ts";
import { bundleBare } from "../servers/bundle-bare.ts";
import { readResult, startStdio, type StdioServer } from "../servers/stdio-server.ts";
import { comparePairs, prepareLink, type Callee } from "./compare-calls.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Compares calls over stdio with a server that has the same SDK but no Waypost. */
export async function* measureStdio({ extent }: Subject): Rounds {
  await using file = await makeDataFile();
  using bundled = await bundleBare("stdio");
  // Both have the same port, so that they return the same addresses.
  const port = String(await findFreePort());
  const words = [command, "stdio", "--data", file.folder, "--port", port, "--log", "error"];
  await using legacy = await startStdio(words, "2025-11-25");
  const { params, said } = await prepareLink(async (method, given) => {
    return readResult(await legacy.ask(method, given));
  });
  await using modern = await startStdio(words, "2026-07-28");
  await using bareLegacy = await startStdio(bundled.words(said), "2025-11-25");
  await using bareModern = await startStdio(bundled.words(said), "2026-07-28");
  const call = (server: StdioServer) => callOverStdio(server, params);
  yield* comparePairs(
    [
      { what: "2025-11-25", ours: call(legacy), bare: call(bareLegacy) },
      { what: "2026-07-28", ours: call(modern), bare: call(bareModern) },
    ],
    extent,
  );
}

function callOverStdio(server: StdioServer, params: object): Callee {
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
