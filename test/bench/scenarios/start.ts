import { command } from "../subject.ts";
import { makeDataFile } from "../data/data-file.ts";
import type { Finding } from "../results/finding.ts";
import { bundleBare } from "../servers/bundle-bare.ts";
import { readResult, revisions, startStdio, type Revision } from "../servers/stdio-server.ts";
import { takeBoth } from "../take-both.ts";
import type { Rounds } from "./scenario.ts";

/** The time from process start to the first list of tools, compared with a bare SDK server. */

type StartFigures = { readonly cpu_us: number; readonly time_ms: number };

export async function* measureStart(): Rounds {
  await using file = await makeDataFile();
  using bundled = await bundleBare("stdio");
  const ours = [command, "stdio", "--data", file.folder];
  const names = await listNames(ours);
  const bare = bundled.words({ names, result: { content: [], structuredContent: {} } });
  // The first start reads files from the disk, and later ones from memory.
  for (const words of [ours, bare]) await start(words);
  for (let round = 0; ; round += 1) {
    const findings: Finding[] = [];
    for (const revision of revisions) {
      const [own, bareFigures] = await takeBoth(
        round,
        () => start(ours, revision),
        () => start(bare, revision),
      );
      findings.push(
        { what: `${revision}, CPU`, unit: "ms", value: own.cpu_us / 1000 },
        {
          what: `${revision}, CPU of the bare server`,
          unit: "times",
          value: own.cpu_us / bareFigures.cpu_us,
          target: { most: 1.2 },
        },
        { what: `${revision}, time`, unit: "ms", value: own.time_ms },
      );
    }
    yield findings;
  }
}

async function start(words: readonly string[], revision?: Revision): Promise<StartFigures> {
  const started = performance.now();
  await using server = await startStdio(words, revision);
  readResult(await server.ask("tools/list"));
  return { cpu_us: server.readCpu_us(), time_ms: performance.now() - started };
}

async function listNames(words: readonly string[]): Promise<readonly string[]> {
  await using server = await startStdio(words);
  const { tools } = readResult(await server.ask("tools/list"));
  return (tools as readonly { readonly name: string }[]).map(({ name }) => name);
}
