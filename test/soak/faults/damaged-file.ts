import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../../bench/load/ask.ts";
import { askModern } from "../../bench/load/http-tools.ts";
import { makeFolder } from "../../bench/leftovers.ts";
import type { Server } from "../../bench/servers/http-server.ts";
import { none, note } from "../check.ts";
import type { Fault, Stage } from "../fault.ts";
import { storeFile } from "../site.ts";

/** The store's file or the state's, as something else has left it. */
export const damagedFile: Fault = {
  name: "damaged-file",
  what: "the store's file or the state's is cut off, overwritten or another one",
  engines: ["sqlite"],
  play: async (stage) => {
    const { openSite, scale, chance } = stage;
    await using site = await openSite();
    const { keys } = await site.addPlot("damaged", 1);
    const [token = ""] = keys;
    await plant(await site.serve(), token, scale(300, 30));
    const told = new Map<string, number>();
    const wrong: string[] = [];
    for (let turn = 0; turn < scale(60, 4); turn += 1) {
      using folder = makeFolder();
      cpSync(site.folder, folder.path, { recursive: true });
      const file = turn % 2 === 0 ? storeFile : stateFile;
      const damage = chance.pick(damages);
      const path = join(folder.path, file);
      const bytes = damage.make(readFileSync(path), stage);
      writeFileSync(path, bytes);
      const what = `${file}, ${damage.name}`;
      const said = await lookAt(() => site.serve({ data: folder.path }), token);
      told.set(`${what}: ${said.told}`, (told.get(`${what}: ${said.told}`) ?? 0) + 1);
      wrong.push(...said.wrong.map((line) => `${what}: ${line}`));
      // Where it was refused, whoever has a copy of it can compare.
      if (said.isRefused && !readFileSync(path).equals(bytes)) wrong.push(`${what}: changed`);
      // With its file as it was, everything is as it was.
      for (const end of ["-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
      cpSync(join(site.folder, file), path);
      const mended = await lookAt(() => site.serve({ data: folder.path }), token);
      if (mended.told !== fine) wrong.push(`${what}, put back: ${mended.told}`);
    }
    const lines = [...told].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return [
      ...lines.map(([line, count]) => note(`told of ${line.split(": ")[0]}`, tell(line, count))),
      none("wrong answers, files that were changed, or nothing said", wrong),
    ];
  },
};

const stateFile = "state.db";
const fine = "all is there";

type Damage = {
  readonly name: string;
  readonly make: (bytes: Buffer, stage: Stage) => Buffer;
};

const damages: readonly [Damage, ...Damage[]] = [
  {
    name: "cut off",
    make: (bytes, { chance }) => bytes.subarray(0, chance.between(1, bytes.length - 1)),
  },
  { name: "a text", make: () => Buffer.from("Dear diary,\n".repeat(1000)) },
  {
    name: "its beginning overwritten",
    make: (bytes, { chance }) => overwrite(bytes, 0, chance.bytes(chance.between(16, 4096))),
  },
  {
    name: "a page overwritten",
    make: (bytes, { chance }) => {
      const page = chance.between(1, Math.floor(bytes.length / 4096) - 1);
      return overwrite(bytes, page * 4096, chance.bytes(4096));
    },
  },
];

function overwrite(bytes: Buffer, at: number, by: Uint8Array): Buffer {
  const copy = Buffer.from(bytes);
  copy.set(by, at);
  return copy;
}

async function plant(started: Server, token: string, links: number): Promise<void> {
  await using server = started;
  for (let turn = 0; turn < links; turn += 1) {
    const args = { path: `known/${turn}`, name: `Link ${turn}`, url: "https://example.com/" };
    await askModern(server, token).ask("tools/call", { name: "create_link", arguments: args });
  }
}

type Look = { readonly told: string; readonly isRefused: boolean; readonly wrong: string[] };

/** What a start says; where it goes well, whether what is answered is true. */
async function lookAt(serve: () => Promise<Server>, token: string): Promise<Look> {
  const starting = await serve().catch((error: Error) => error);
  if (starting instanceof Error) {
    const said = simplify(starting.message.replace(/^.*before it was ready: /, ""));
    const isClear = /damaged|is not a Waypost database/.test(said);
    return { told: said, isRefused: true, wrong: isClear ? [] : [said] };
  }
  await using server = starting;
  const list = await ask(server, { path: "/api/v1/links?limit=1", token });
  const one = await ask(server, { path: "/api/v1/links?q[path_eq]=known/7", token });
  const call = { name: "list_changes", arguments: {} };
  const changes = await ask(server, askModern(server, token).write("tools/call", call));
  const answers = { list, one, changes };
  const wrong = Object.entries(answers).flatMap(([name, { status, body }]) => {
    const isWell = status === 200 && !body.includes('"isError":true');
    if (!isWell) return [];
    // What is answered at all is as it was written.
    return body.includes(name === "changes" ? "known/" : '"Link ') ? [] : [`${name}: ${body}`];
  });
  const failed = Object.entries(answers).filter(
    ([, { status, body }]) => status !== 200 || body.includes('"isError":true'),
  );
  const told = failed.map(([name, { status, body }]) => `${name} ${status} ${readMessage(body)}`);
  return { told: told.length === 0 ? fine : simplify(told.join("; ")), isRefused: false, wrong };
}

function readMessage(body: string): string {
  return /"message":"([^"]*)"/.exec(body)?.[1] ?? body;
}

/** Without what is another one every time. */
function simplify(said: string): string {
  return said
    .replace(/\S*\/(\S+\.db)/, "$1")
    .replace(/reference \w+/, "reference …")
    .replace(/\s+/g, " ")
    .trim();
}

function tell(line: string, count: number): string {
  return `${count} x ${line.slice(line.indexOf(": ") + 2)}`;
}
