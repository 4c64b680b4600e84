import { startBalancer, takeTurns } from "./balancer.ts";
import { createFolder, run, startServe, type Serving } from "./command.ts";
import { connectV2 } from "./mcp-clients.ts";
import { takeDatabase } from "./postgres.ts";
import { isOnPostgres } from "./store-place.ts";

/** Two `serve` processes of one store. */

type Settings = Readonly<Record<string, string>>;

/** On two machines, as far as the folders are concerned. */
async function startOnPostgres(settings: Settings = {}): Promise<Two> {
  const database = await takeDatabase();
  const folders = [await createFolder(), await createFolder()] as const;
  const env = { ...settings, WAYPOST_DATABASE_URL: database.url };
  const [one, other] = await Promise.all(folders.map(({ path }) => startServe(path, [], { env })));
  if (one === undefined || other === undefined) throw new Error("there are two folders");
  const key = one.key + other.key;
  const place = { data: folders[0].path, env };
  return open({ ...one, key }, { ...other, key }, place, async () => {
    await Promise.all(folders.map((folder) => folder[Symbol.asyncDispose]()));
    await database.giveBack();
  });
}

export async function startOnSqlite(env: Settings = {}): Promise<Two> {
  const folder = await createFolder();
  const one = await startServe(folder.path, [], { env });
  const other = await startServe(folder.path, [], { env });
  return open(one, other, { data: folder.path, env }, () => folder[Symbol.asyncDispose]());
}

type Two = {
  readonly one: Serving;
  readonly other: Serving;
  readonly data: string;
  /** The settings of another process of theirs. */
  readonly env: Readonly<Record<string, string>>;
  /** A client of the revision 2026-07-28 that switches with every request. */
  readonly connect: () => ReturnType<typeof connectV2>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

async function open(
  one: Serving,
  other: Serving,
  place: Pick<Two, "data" | "env">,
  close: () => Promise<void>,
): Promise<Two> {
  const balancer = await startBalancer(takeTurns([one.places.url, other.places.url]));
  const url = `${balancer.url}/mcp`;
  return {
    one,
    other,
    ...place,
    connect: () => connectV2({ transport: "http", url, token: one.key }),
    [Symbol.asyncDispose]: async () => {
      await balancer[Symbol.asyncDispose]();
      await Promise.all([one.stop("SIGKILL"), other.stop("SIGKILL")]);
      await close();
    },
  };
}

/** One that stays with its server. */
export function connectTo({ places, key }: Serving) {
  return connectV2({ transport: "http", url: places.mcp, token: key });
}

export async function makeKey({ data, env }: Two): Promise<string> {
  const words = ["keys", "create", "--project", "default", "--json", "--data", data];
  const { stdout } = await run(words, { env });
  return JSON.parse(stdout).token;
}

/** On the engine of this run. */
export const startTwo = isOnPostgres ? startOnPostgres : startOnSqlite;
