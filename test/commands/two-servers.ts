import { createUsedFolder, run, startServe, type Serving } from "../support/command.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { takeDatabase } from "../support/postgres.ts";
import { isOnPostgres } from "../support/store-place.ts";
import type { IncomingMessage } from "node:http";
import { openForwarder } from "../support/ports.ts";

/** Starts two `serve` processes with the same data, and a balancer that alternates. */
export type Servers = {
  readonly one: Serving;
  readonly other: Serving;
  readonly data: string;
  /** The settings for another process with the same data. */
  readonly env: Readonly<Record<string, string>>;
  /** A client of the revision 2026-07-28 that switches with every request. */
  readonly connect: (key?: string) => ReturnType<typeof connectV2>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Starts something between the processes and their database, by its address. */
type LoadBalancer = AsyncDisposable & { readonly url: string };

export function startTwo(): Promise<Servers> {
  return isOnPostgres ? startOnPostgres() : startOnSqlite();
}

/** Uses two folders, as two machines would. */
export async function startOnPostgres(
  openBetween?: (url: string) => Promise<LoadBalancer>,
): Promise<Servers> {
  const database = await takeDatabase();
  const between = await openBetween?.(database.url);
  const folders = [await createUsedFolder(), await createUsedFolder()] as const;
  const env = { WAYPOST_DATABASE_URL: between?.url ?? database.url };
  const [one, other] = await Promise.all(folders.map(({ path }) => startServe(path, [], { env })));
  if (one === undefined || other === undefined) throw new Error("two folders are needed");
  const key = one.key + other.key;
  const place = { data: folders[0].path, env };
  return open({ ...one, key }, { ...other, key }, place, async () => {
    await Promise.all(folders.map((folder) => folder[Symbol.asyncDispose]()));
    await between?.[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
}

async function startOnSqlite(): Promise<Servers> {
  const folder = await createUsedFolder();
  const one = await startServe(folder.path);
  const other = await startServe(folder.path);
  return open(one, other, { data: folder.path, env: {} }, () => folder[Symbol.asyncDispose]());
}

async function open(
  one: Serving,
  other: Serving,
  place: Pick<Servers, "data" | "env">,
  close: () => Promise<void>,
): Promise<Servers> {
  const balancer = await startBalancer(takeTurns([one.places.url, other.places.url]));
  const url = `${balancer.url}/mcp`;
  return {
    one,
    other,
    ...place,
    connect: (token = one.key) => connectV2({ transport: "http", url, token }),
    [Symbol.asyncDispose]: async () => {
      await balancer[Symbol.asyncDispose]();
      await Promise.all([one.stop("SIGKILL"), other.stop("SIGKILL")]);
      await close();
    },
  };
}

export function connectTo({ places, key }: Serving) {
  return connectV2({ transport: "http", url: places.mcp, token: key });
}

/** Creates a key that neither server has seen yet. */
export async function makeKey({ data, env }: Servers, words: readonly string[]): Promise<string> {
  const { stdout } = await run(["keys", "create", ...words, "--json", "--data", data], { env });
  return JSON.parse(stdout).token;
}

/** Returns the address of the process that gets a request. */
type Rule = {
  readonly pick: (request: IncomingMessage) => string;
  /** Called with each response and the address of its process. */
  readonly learn?: (from: string, answer: IncomingMessage) => void;
};

export function startBalancer({ pick, learn }: Rule) {
  return openForwarder((request) => {
    const target = pick(request);
    return { target, onAnswer: (answer) => learn?.(target, answer) };
  });
}

function takeTurns(targets: readonly string[]): Rule {
  let turn = 0;
  return {
    pick: () => {
      turn += 1;
      return targets[turn % targets.length] ?? "";
    },
  };
}

/** Sends a session to the process that created it (docs/deploy.md, "Several processes"). */
export function stickToSessions(targets: readonly string[]): Rule {
  const { pick } = takeTurns(targets);
  const owners = new Map<string, string>();
  return {
    pick: (request) => owners.get(String(request.headers["mcp-session-id"])) ?? pick(request),
    learn: (from, { headers }) => {
      const id = headers["mcp-session-id"];
      if (typeof id === "string") owners.set(id, from);
    },
  };
}
