import type { KnownKey } from "../contract/access.ts";
import { toSignal } from "../contract/leaving.ts";
import type { FetchFile } from "../network/hosts/fetch-file.ts";
import { checkHost } from "./check-host.ts";
import { readProjectFiles, type ProjectReading } from "./expected.ts";
import type { DomainReport } from "./finding.ts";
import { findOwnOrigin, listOwnOrigins } from "./own-hosts.ts";

/** A look at one of the hosts of a key's own project. */

export type DomainLook = Omit<ProjectReading, "isOwn"> & {
  readonly known: KnownKey;
  readonly fetchFile: FetchFile;
  readonly now: number;
};

/** Why a look cannot begin. */
type Refused = { readonly message: string; readonly fix: string };

type ChosenHost =
  { readonly origin: string; readonly others: readonly string[] } | { readonly refused: Refused };

type HostReading = Pick<DomainLook, "known" | "call" | "signal" | "mayRead">;
type Listed = { readonly origins: readonly [string, ...string[]] } | { readonly refused: Refused };

/** The one where links are shown comes first. */
export async function listOwnHosts({ known, ...reading }: HostReading): Promise<Listed> {
  const [first, ...others] = await listOwnOrigins(known, reading);
  return first === undefined ? { refused: explainNone(known) } : { origins: [first, ...others] };
}

/** Left out, it is the host where the project's links are shown. */
export async function chooseHost(
  given: string | undefined,
  reading: HostReading,
): Promise<ChosenHost> {
  const listed = await listOwnHosts(reading);
  if ("refused" in listed) return listed;
  const { known } = reading;
  const { origins } = listed;
  const [first] = origins;
  // The domains of a master key are those of many projects.
  const isClear = known.linkHost !== undefined || origins.length === 1;
  const origin = given === undefined ? first : findOwnOrigin(given, origins);
  if (origin === undefined || (given === undefined && !isClear)) {
    return { refused: explainForeign(origins, given !== undefined) };
  }
  return { origin, others: origins.filter((one) => one !== origin).map(nameHost) };
}

export async function checkOwnHost(origin: string, look: DomainLook): Promise<DomainReport> {
  // A deployment elsewhere tells nothing of its keys.
  const isOwn = look.known.facts !== undefined;
  const expected = await readProjectFiles({ ...look, isOwn });
  return checkHost({ ...look, origin, expected, signal: toSignal(look.signal) });
}

function explainNone({ facts }: KnownKey): Refused {
  if (facts !== undefined) {
    const message = "No project has a verified custom domain.";
    return { message, fix: "Use a project's key: every project has a link host." };
  }
  const message = "This server's link host is unknown.";
  const fix =
    "Ask the operator to set WAYPOST_LINK_ORIGIN, or use a master key, which can read the " +
    "projects' verified domains.";
  return { message, fix };
}

const mostNamed = 20;

function explainForeign(origins: readonly string[], isNamed: boolean): Refused {
  const names = origins.slice(0, mostNamed).map(nameHost).join(", ");
  const what = isNamed ? "is not one of this key's verified hosts" : "is required";
  return { message: `host ${what}. This key's hosts are ${names}`, fix: "Name one of them." };
}

function nameHost(origin: string): string {
  return new URL(origin).host;
}
