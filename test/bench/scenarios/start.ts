import { makeDataFile } from "../ground/data-file.ts";
import { noDearer, type Finding } from "../results/finding.ts";
import { bundleBare } from "../servers/bundle-bare.ts";
import { readResult, revisions, startStdio, type Revision } from "../servers/stdio-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** From a process's start to its first list of tools, beside a bundled bare server of the SDK. */

type Start = { readonly cpu_us: number; readonly time_ms: number };

export async function* measureStart({ build }: Subject): Rounds {
  await using file = await makeDataFile(build);
  using bundled = await bundleBare("stdio");
  const ours = [build.command, "stdio", "--data", file.folder];
  const names = await listNames(ours);
  const bare = bundled.words({ names, result: { content: [], structuredContent: {} } });
  // The first ones find nothing in the machine's memory.
  await start(bare, "2025-11-25");
  for (let round = 0; ; round += 1) {
    const findings: Finding[] = [];
    for (const revision of revisions) {
      const early = round % 2 === 0 ? await start(bare, revision) : undefined;
      const own = await start(ours, revision);
      const beside = early ?? (await start(bare, revision));
      findings.push(...compare(revision, own, beside));
    }
    yield findings;
  }
}

function compare(revision: Revision, own: Start, bare: Start): readonly Finding[] {
  return [
    { what: `${revision}, CPU`, unit: "ms", value: own.cpu_us / 1000, target: noDearer },
    {
      what: `${revision}, CPU of the bare server`,
      unit: "times",
      value: own.cpu_us / bare.cpu_us,
      target: { most: 1.15 },
    },
    { what: `${revision}, time`, unit: "ms", value: own.time_ms },
    {
      what: `${revision}, time of the bare server`,
      unit: "times",
      value: own.time_ms / bare.time_ms,
    },
  ];
}

async function start(words: readonly string[], revision: Revision): Promise<Start> {
  const started = performance.now();
  await using server = await startStdio(words, revision);
  readResult(await server.ask("tools/list"));
  const cpu_us = server.readCpu_us();
  return { cpu_us, time_ms: performance.now() - started };
}

async function listNames(words: readonly string[]): Promise<readonly string[]> {
  await using server = await startStdio(words);
  const { tools } = readResult(await server.ask("tools/list"));
  return (tools as readonly { readonly name: string }[]).map(({ name }) => name);
}
