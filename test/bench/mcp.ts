import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../tools/bundle.js";
import { compete, type Contest, type Measure } from "./compete.ts";
import type { Sample } from "./measure.ts";
import { revisions, startStdio, type Reply, type Revision, type StdioServer } from "./stdio.ts";
import type { Row } from "./table.ts";

/**
 * The MCP server over stdio, embedded, beside a bare server of the same SDK with as many tools
 * that do nothing. The two take turns; a ratio is the median of the rounds' ratios, for what else
 * runs on the machine slows both of a round in the same way.
 */

type Words = readonly string[];

const startTarget = { measure: "ratio", limit: 1.3 } as const;
const callTarget = { measure: "ratio", limit: 2 } as const;
const startRounds = 30;
const callRounds = 9;
const calls = 2000;
const crowd = 32;

export async function measureMcp(say: (text: string) => void): Promise<readonly Row[]> {
  const folder = await mkdtemp(join(tmpdir(), "waypost-bench-mcp-"));
  try {
    const { contest, id } = await prepareContest(folder);
    const rows: Row[] = [];
    for (const revision of revisions) {
      say(`starts, ${revision} …`);
      const start: Measure<Words> = (words) => measureStart(words, revision);
      rows.push(...(await compete(`start, ${revision}`, contest, start, startRounds, startTarget)));
    }
    for (const revision of revisions) {
      for (const many of [1, crowd]) {
        const what =
          many === 1 ? `get_link, ${revision}` : `get_link, ${many} at once, ${revision}`;
        say(`${what} …`);
        const call: Measure<Words> = (words) => measureCalls(words, { revision, id, many });
        rows.push(...(await compete(what, contest, call, callRounds, callTarget)));
      }
    }
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A store that is there, with one link in it, and a bare server that lists the same names. */
async function prepareContest(
  folder: string,
): Promise<{ readonly contest: Contest<Words>; readonly id: string }> {
  const ours = ["dist/waypost.js", "stdio", "--data", join(folder, "data")];
  const { tools, id } = await makeLink(ours);
  const outfile = join(folder, "bare.mjs");
  const entry = fileURLToPath(new URL("./bare-mcp.ts", import.meta.url));
  await bundle({ entryPoints: [entry], outfile });
  const bare = [outfile, ...tools.map(({ name }) => name)];
  return { contest: { ours, rival: bare, name: "bare" }, id };
}

/** Makes a link in the folder that a server works on, and tells what that server has. */
export async function makeLink(words: Words) {
  await using waypost = await startStdio(words);
  const { tools } = readResult(await waypost.ask("tools/list")) as {
    readonly tools: readonly { readonly name: string }[];
  };
  const given = { name: "create_link", arguments: { path: "spring", url: "https://example.com" } };
  const { structuredContent } = readResult(await waypost.ask("tools/call", given)) as {
    readonly structuredContent: { readonly link: { readonly id: string } };
  };
  return { tools, id: structuredContent.link.id };
}

/** From the process's start to its first list of tools. */
export async function measureStart(words: Words, revision: Revision): Promise<Sample> {
  const started = performance.now();
  await using server = await startStdio(words, revision);
  readResult(await server.ask("tools/list"));
  const cpu_us = server.readCpu_us();
  return { times_ms: [performance.now() - started], cpu_us };
}

type Calls = { readonly revision: Revision; readonly id: string; readonly many: number };

export async function measureCalls(words: Words, { revision, id, many }: Calls): Promise<Sample> {
  await using server = await startStdio(words, revision);
  // The first ones are for the compiler.
  await callAll(server, id, many);
  const before_us = server.readCpu_us();
  const started = performance.now();
  const times_ms = await callAll(server, id, many);
  const elapsed_ms = performance.now() - started;
  return { times_ms, cpu_us: server.readCpu_us() - before_us, elapsed_ms };
}

async function callAll({ ask }: StdioServer, id: string, many: number): Promise<readonly number[]> {
  const times_ms: number[] = [];
  let left = calls;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      const started = performance.now();
      readResult(await ask("tools/call", { name: "get_link", arguments: { id } }));
      times_ms.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: many }, work));
  return times_ms;
}

/** A refusal costs less than an answer, so there must be none. */
function readResult({ result, error }: Reply): Readonly<Record<string, unknown>> {
  if (result === undefined || result["isError"] === true) {
    throw new Error(`a call failed: ${JSON.stringify(error ?? result)}`);
  }
  return result;
}
