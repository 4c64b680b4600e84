import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compete, type Contest } from "./compete.ts";
import { fire, startServer, type Server } from "./http.ts";
import { makeLink, measureCalls, measureStart } from "./mcp.ts";
import type { Row } from "./table.ts";

/**
 * This checkout's built command beside another one's, such as the commit's before, each on a data
 * folder of its own: what a start costs, a get_link by its id and by its path, and a redirect.
 */

type Words = readonly string[];

const startRounds = 20;
const callRounds = 12;
const redirectRounds = 12;
/** A change that costs no more than the machine's own noise. */
const target = { measure: "ratio", limit: 1.05 } as const;
const revision = "2025-11-25";
const quietly = ["--port", "0", "--json", "--log", "error"];

export async function measureAgainst(
  checkout: string,
  say: (text: string) => void,
): Promise<readonly Row[]> {
  const folder = await mkdtemp(join(tmpdir(), "waypost-bench-against-"));
  const at = (root: string, name: string): { words: Words; serve: Words } => ({
    words: [join(root, "dist/waypost.js"), "stdio", "--data", join(folder, name)],
    serve: [join(root, "dist/waypost.js"), "serve", "--data", join(folder, name), ...quietly],
  });
  const [here, there] = [at(".", "ours"), at(checkout, "other")];
  const pair = { name: "the other's" } as const;
  try {
    const ids = new Map<Words, string>([
      [here.words, (await makeLink(here.words)).id],
      [there.words, (await makeLink(there.words)).id],
    ]);
    const contest = { ...pair, ours: here.words, rival: there.words };
    say("starts …");
    const start = (words: Words) => measureStart(words, revision);
    const rows = [...(await compete("start", contest, start, startRounds, target))];
    for (const name of ["id", "path"] as const) {
      say(`get_link by ${name} …`);
      const call = (words: Words) => {
        const id = name === "id" ? (ids.get(words) ?? "") : "spring";
        return measureCalls(words, { revision, id, many: 1 });
      };
      rows.push(...(await compete(`get_link by ${name}`, contest, call, callRounds, target)));
    }
    say("redirects …");
    await using ours = await startServer(here.serve);
    await using rival = await startServer(there.serve);
    rows.push(...(await measureRedirects({ ...pair, ours, rival })));
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureRedirects(contest: Contest<Server>): Promise<readonly Row[]> {
  const headers = { host: "default.localhost", "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" };
  const questions = [{ path: "/spring", headers }];
  const measure = (server: Server) => fire(server, { seconds: 1, status: 302, questions });
  // The first ones are for the compiler.
  await measure(contest.ours);
  await measure(contest.rival);
  return compete("redirect", contest, measure, redirectRounds, target);
}
