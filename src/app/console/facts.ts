import { homedir } from "node:os";
import { resolve, sep } from "node:path";
import type { KnownKey } from "../../contract/access.ts";
import type { Mode } from "../../mcp/approval/mode.ts";
import { describeKeyAccess } from "../../text/secrets.ts";
import type { Account } from "../../console/account.ts";
import { isOperator, isOwnKey, type AccountContext } from "./parts.ts";
import { readDatabaseUrl } from "../data/secrets.ts";

/** What the console shows about its process. Nothing here is secret. */

const modes: Readonly<Record<Mode, string>> = {
  "read-only": "read-only: assistants cannot change anything",
  guarded: "guarded: you approve risky changes",
  full: "full: assistants need no approval",
};

export function describeConsole(context: AccountContext): Pick<Account, "facts" | "connection"> {
  const { config, deployment, addresses, program, version, keyContext } = context;
  const { linkHost, otherLinkHosts = [], facts } = keyContext.known;
  const isOwn = deployment.own !== undefined;
  const others = otherLinkHosts.filter((host) => host !== linkHost);
  const data = resolve(config.data);
  const isInFolder = readDatabaseUrl(config) === undefined;
  const engine = isInFolder ? "SQLite" : "PostgreSQL";
  const store = isInFolder && isOperator(context) ? shortenHome(data) : engine;
  const rows = [
    ["Link host", linkHost],
    ["Other hosts", others.length === 0 ? undefined : others.join(", ")],
    [isOwn ? "Database" : "Remote server", isOwn ? store : config.base_url],
    ["Mode", modes[config.mode]],
    ["Plan", facts?.plan],
    ["Your key", facts === undefined ? undefined : describeKey(facts)],
    ["Version", version],
  ] as const;
  // A command that starts a new MCP process is shown only if it would use the same data and key. It
  // must not contain a database URL, which may include a password.
  const isByFolder = isOwn && isInFolder && isOwnKey(context);
  const words = [program, ...(config.isDataNamed ? ["--data", data] : [])];
  return {
    facts: rows.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])),
    connection: {
      command: isByFolder ? words : undefined,
      mcp: addresses.mcp,
      secret: isOwn ? "your key" : "the gateway's token",
    },
  };
}

/** Shortens a path in the home folder to `~/…`. */
function shortenHome(path: string): string {
  const home = homedir();
  return path.startsWith(`${home}${sep}`) ? `~${path.slice(home.length)}` : path;
}

function describeKey({ role, scopes, kind }: NonNullable<KnownKey["facts"]>): string {
  if (kind === "master") return "master key: manages projects only";
  return describeKeyAccess(role, scopes);
}
