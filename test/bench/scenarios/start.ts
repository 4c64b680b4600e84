import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fetchNode } from "../../tools/fetch-node.js";
import { makeDataFile } from "../ground/data-file.ts";
import { noDearer, type Finding } from "../results/finding.ts";
import { bundleBare } from "../servers/bundle-bare.ts";
import { readResult, revisions, startStdio, type Speaking } from "../servers/stdio-server.ts";
import { takeBoth } from "../take-both.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** From a process's start to its first list of tools, beside a bundled bare server of the SDK. */

type Start = { readonly cpu_us: number; readonly time_ms: number };

export async function* measureStart({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  using bundled = await bundleBare("stdio");
  const ours = [build.command, "stdio", "--data", file.folder];
  const names = await listNames(ours);
  const bare = bundled.words({ names, result: { content: [], structuredContent: {} } });
  const nodes = [
    { name: "", node: process.execPath },
    ...extent.nodes.map((version) => ({ name: `Node ${version}, `, node: fetchNode(version) })),
  ];
  // The first ones find nothing in the machine's memory.
  for (const { node } of nodes) await start(bare, { node });
  for (let round = 0; ; round += 1) {
    const findings: Finding[] = [];
    for (const { name, node } of nodes) {
      forgetCompiled(file.folder);
      const first = await start(ours, { node });
      const plain = await start(bare, { node });
      findings.push(compareCpu(`${name}the first on a data folder`, first, plain));
      for (const revision of revisions) {
        const speaking = { node, revision };
        const startOurs = () => start(ours, speaking);
        const [own, beside] = await takeBoth(round, startOurs, () => start(bare, speaking));
        findings.push(...compare(name + revision, own, beside));
      }
    }
    yield findings;
  }
}

function compare(what: string, own: Start, bare: Start): readonly Finding[] {
  return [
    { what: `${what}, CPU`, unit: "ms", value: own.cpu_us / 1000, target: noDearer },
    { ...compareCpu(what, own, bare), target: { most: 1.15 } },
    { what: `${what}, time`, unit: "ms", value: own.time_ms },
    { what: `${what}, time of the bare server`, unit: "times", value: own.time_ms / bare.time_ms },
  ];
}

function compareCpu(what: string, own: Start, bare: Start): Finding {
  const value = own.cpu_us / bare.cpu_us;
  return { what: `${what}, CPU of the bare server`, unit: "times", value };
}

/** What one session keeps for the next: it has to compile everything then. */
function forgetCompiled(folder: string): void {
  const kept = readdirSync(folder).filter((name) => name.startsWith("compiled-"));
  for (const name of kept) rmSync(join(folder, name));
}

async function start(words: readonly string[], speaking: Speaking): Promise<Start> {
  const started = performance.now();
  await using server = await startStdio(words, speaking);
  readResult(await server.ask("tools/list"));
  const cpu_us = server.readCpu_us();
  return { cpu_us, time_ms: performance.now() - started };
}

async function listNames(words: readonly string[]): Promise<readonly string[]> {
  await using server = await startStdio(words);
  const { tools } = readResult(await server.ask("tools/list"));
  return (tools as readonly { readonly name: string }[]).map(({ name }) => name);
}
