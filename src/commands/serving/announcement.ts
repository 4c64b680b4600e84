import { join, resolve } from "node:path";
import { isOpenToOthers, type Addresses } from "../../app/http/addresses.ts";
import { databaseFile, findHttpTokenFile, hasDatabase } from "../../app/data/data-folder.ts";
import { explainOwnerKey, type OwnerKey } from "../../app/data/first-start.ts";
import { readDatabaseUrl } from "../../app/data/secrets.ts";
import type { Config } from "../../config.ts";
import { fillSubdomain, hasSubdomains } from "../../contract/rules/link-address.ts";
import { describeDatabase } from "../../network/database-url.ts";
import { quoteWord } from "../../text/escape.ts";
import { nameMakeKey } from "../terminal/command-name.ts";
import { print, say } from "../terminal/output.ts";

type Announced = {
  readonly config: Config;
  readonly addresses: Addresses;
  /** Undefined for a gateway to a remote server. */
  readonly own: OwnServerFacts | undefined;
  readonly json: boolean;
  /** What the user types to run another command. */
  readonly command: string;
  /** A one-time address that signs in to the console; undefined if none may be shown. */
  readonly signIn: string | undefined;
};

type OwnServerFacts = {
  readonly isFirstStart: boolean;
  readonly ownerKey: OwnerKey;
  /** Undefined if several projects exist. */
  readonly project: { readonly subdomain: string } | undefined;
};

/** Prints what users need to know when `serve` is ready. */
export function announce(announced: Announced): void {
  const { config, addresses, own, json, command, signIn } = announced;
  const { json: facts, lines } =
    own === undefined
      ? describeGateway(config, addresses)
      : describeOwn(config, addresses, own, command);
  if (json) print(JSON.stringify({ ...addresses, ...facts }));
  for (const line of lines) say(line);
  if (signIn !== undefined) say(`Console (signs you in once, within ten minutes): ${signIn}`);
  if (isOpenToOthers(config)) {
    say(
      `Waypost listens on ${config.host}, where keys and approvals travel unencrypted. Put a ` +
        "proxy with TLS in front of it, and set --public-url https://…",
    );
  }
}

type AnnouncementText = { readonly json: object; readonly lines: readonly string[] };

function describeOwn(
  config: Config,
  { api, mcp, links }: Addresses,
  { isFirstStart, ownerKey, project }: OwnServerFacts,
  command: string,
): AnnouncementText {
  const makeKey = nameMakeKey(config, command);
  const place = describeDataPlace(config);
  const places = place === undefined ? [] : [place];
  const { file: keyFile, state } = ownerKey;
  const json = { key_file: state === "opens" ? keyFile : null };
  const host = links && describeLinkHost(links, project);
  if (!isFirstStart) {
    const key = explainOwnerKey(ownerKey, makeKey);
    const line = `Links open at ${host}. The API is at ${api}, MCP at ${mcp} (${key}).`;
    return { json, lines: [`${line} Ctrl-C stops Waypost.`, ...places] };
  }
  // Passes the header through a pipe, because other processes can see arguments.
  const header = `printf 'Authorization: Token %s' "$(cat ${quoteWord(keyFile)})"`;
  const link = JSON.stringify({ path: "first", url: "https://example.com" });
  const body = `-H 'Content-Type: application/json' -d '${link}'`;
  return {
    json,
    lines: [
      `Your links open at ${host}.`,
      `Assistants connect over MCP to ${mcp}, with the key in ${keyFile}.`,
      `Create your first link, ${host}/first: ${header} | curl -H @- ${api}/links ${body}`,
      `More keys: ${makeKey}. All commands: ${command} --help.`,
      ...places,
    ],
  };
}

function describeLinkHost(links: string, project: OwnServerFacts["project"]): string {
  if (project) return fillSubdomain(links, project);
  if (hasSubdomains(links)) return `${links}, one host for each project`;
  return `${links}, only for the oldest project`;
}

function describeGateway(config: Config, { api, mcp }: Addresses): AnnouncementText {
  const { http_token, http_token_file } = config.secrets;
  const made = http_token === undefined ? findHttpTokenFile(config.data) : null;
  const token_file = http_token_file ?? made;
  const token =
    token_file === null ? "the token of WAYPOST_HTTP_TOKEN" : `the token in ${token_file}`;
  return {
    json: { key_file: null, token_file },
    lines: [`Waypost serves MCP at ${mcp} for ${api}; callers send ${token}.`],
  };
}

/** Returns undefined if the data is in the data folder. Warns of an unused older file there. */
function describeDataPlace(config: Config): string | undefined {
  const url = readDatabaseUrl(config);
  if (url === undefined) return undefined;
  const place = `The data is in the database ${describeDatabase(url)}.`;
  if (!hasDatabase(config.data)) return place;
  const file = join(resolve(config.data), databaseFile);
  const advice = "To move or delete its data, see: waypost help backup-and-upgrade";
  return `${place} ${file} is not used. ${advice}`;
}
