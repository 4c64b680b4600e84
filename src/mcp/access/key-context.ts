import { createHash } from "node:crypto";
import type { Bulk } from "../../bulk/bulk.ts";
import type { Client, Sleep } from "../../client/client.ts";
import { hasRole, type KnownKey } from "../../contract/access.ts";
import type { Clock } from "../../contract/clock.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { TimeZone } from "../../contract/local-time.ts";
import type { PublicFiles } from "../../network/hosts/fetch-file.ts";
import type { History, Readers } from "../../state/history.ts";
import type { Scope } from "../../contract/scopes-and-roles.ts";
import type { Previews } from "./saved-previews.ts";
import { createAccess, type Access } from "./key-access.ts";
import { limitDestinations, type DestinationLimits } from "./limit-destinations.ts";
import { createLearnedAccess, type KeptAccess } from "./learned-access.ts";
import { createExploration, listProbes, type Exploration } from "./probe-access.ts";

/** What the keys of a deployment have in common. */
type Shared = {
  /** Plans and jobs of all keys; each is shown its own. */
  readonly bulk: Bulk;
  /** The deployment's address. */
  readonly origin: string;
  /** Whether it refuses a write whose target changed since it was shown. */
  readonly checksConditions: boolean;
  /** The user's; left out, times stay as the API has them, in UTC. */
  readonly timeZone?: TimeZone | undefined;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Reads files of the project's own hosts, as the public sees them. */
  readonly publicFiles: PublicFiles;
  /** What was written, by this key and by others. */
  readonly openHistory: () => Promise<History>;
  /** The pages that a person looks at in a browser, where `readListening` says. */
  readonly openPreviews: () => Promise<Previews>;
  /** Writes a file for a client on the same machine; undefined if that fails. */
  readonly saveFile?: SaveFile | undefined;
  /** Whether the operator allows any tool to do what this endpoint does. */
  readonly isActAllowed: (endpoint: Endpoint) => boolean;
  /**
   * Reads where links and pages open, undefined where nothing listens; `known` follows after the
   * next `renew`.
   */
  readonly readListening: () => Promise<{ readonly url: string } | undefined>;
};

/** What one key sees and how its calls travel: shared by every call that shows the key. */
export type KeyContext = Shared &
  DestinationLimits &
  Exploration & {
    readonly access: Access;
    /** Asks the deployment, and learns from every answer what the key may do. */
    readonly call: Client["call"];
    readonly requireBudget: Client["requireBudget"];
    /** Whether its ids may be others than UUIDs. */
    readonly takesAnyId: boolean;
    /** Whether deleted links and apps rest in a bin of the deployment. */
    readonly keepsBin: boolean;
    /** Where the project's links live, where that is known. */
    readonly linkHost: string | undefined;
    /** The project, or else the deployment: what one key has changed others of it may be shown. */
    readonly realm: string;
    /** Which changes the key may see: its own, or all of the project's. */
    readonly readers: Readers;
    /** Tells keys apart without naming them. */
    readonly key_print: string;
    /** The embedded service's own id of the key; empty for a remote server's key. */
    readonly key_id: string;
    /** As of the last `renew`. */
    readonly known: KnownKey;
    /** Whether the operator and the key allow the endpoint's own tool, as far as is known. */
    readonly mayAsk: (endpoint: Endpoint) => boolean;
    /** The list of tools was shown as it is now: from here on, clients are notified of changes. */
    readonly noteListed: () => void;
    /** What is to be said of the addresses of links where some are shown, unless it was said. */
    readonly takeAddressNote: (areShown: () => boolean) => string | undefined;
    /** Takes over what the embedded service knows of the key by now. */
    readonly renew: () => Promise<void>;
  };

export type SaveFile = (
  type: "csv" | "json",
  texts: AsyncIterable<string>,
) => Promise<string | undefined>;

export type KeyContextOptions = Shared &
  Pick<KeyContext, "known"> & {
    readonly client: Client;
    readonly key: string | undefined;
    readonly scopes: readonly Scope[] | undefined;
    /**
     * The hosts that the operator of this server allows links to redirect to; omitted, any host.
     */
    readonly destinations?: readonly string[] | undefined;
    /** Whether this configuration has the endpoint's tool. */
    readonly isOffered: (endpoint: Endpoint) => boolean;
    /** What a reader has to know about the addresses of links, if anything. */
    readonly describeAddresses?: (() => string | undefined) | undefined;
    /** Asks the embedded service again; undefined for a key that no longer exists. */
    readonly lookUp: () => Promise<KnownKey | undefined>;
    /** Whether a remote server is asked what the key may do. */
    readonly probe: "on" | "off";
    /** Where this is remembered; undefined when nothing is learned. */
    readonly openMemory?: (() => Promise<KeptAccess>) | undefined;
    readonly report: (error: unknown) => unknown;
  } & VisibleListeners;

/** What notifies clients that their list of tools has changed. */
export type VisibleListeners = {
  /** More is known of the key than before. */
  readonly onChange: () => void;
  /** A client has the list as it is now, or none has any. */
  readonly onListed: () => void;
};

/** Of a key that no client shows here. */
export const nobodyListens: VisibleListeners = { onChange: () => {}, onListed: () => {} };

export function createKeyContext(options: KeyContextOptions): KeyContext {
  const { client, key, scopes, destinations, isOffered, lookUp, ...shared } = options;
  const { origin, checksConditions } = shared;
  let { known } = options;
  const key_print = printKey(key);
  const { access, exploration, call, noteListed } = exploreAccess(options, key_print);
  const readRealm = () => known.projectId ?? origin;

  return {
    ...shared,
    ...limitDestinations({ destinations, readKnown: () => known, call }),
    ...exploration,
    noteListed,
    requireBudget: client.requireBudget,
    // Only of our own service it is known that it makes no others.
    takesAnyId: !checksConditions,
    get keepsBin() {
      return known.binDays !== undefined;
    },
    get linkHost() {
      return known.linkHost;
    },
    access,
    key_print,
    get realm() {
      return readRealm();
    },
    get readers() {
      const isLimited = scopes !== undefined || !ownsAll(known.facts);
      return { realm: readRealm(), ...(isLimited && { key_print }) };
    },
    get key_id() {
      return known.keyId ?? "";
    },
    get known() {
      return known;
    },
    takeAddressNote: sayOnce(shared.describeAddresses),
    mayAsk: (endpoint) => isOffered(endpoint) && access.read(endpoint).state !== "denied",
    renew: async () => {
      const current = await lookUp();
      if (current?.refusal !== undefined) return access.setRefusal(current.refusal);
      if (current === undefined) return;
      known = current;
      if (current.facts !== undefined) access.setFacts(current.facts);
    },
  };
}

/** What is known of the key's access, and how it gets to be known. */
function exploreAccess(options: KeyContextOptions, key_print: string) {
  const { client, origin, key, scopes, probe, clock, openMemory, report } = options;
  const { known, isOffered, onChange, onListed } = options;
  const owner = `${key_print} ${origin}`;
  const learned = createLearnedAccess({ owner, openMemory, now: clock.now, report });
  let isListed = false;
  // Before anyone has seen a list, what is learned of a remote key changes it for no one.
  const notify = () => (isListed ? onChange() : onListed());
  const access = createAccess({
    hasKey: key !== undefined,
    scopes,
    isProbed: (list) => probe !== "off" && isOffered(list),
    facts: known.facts,
    refusal: known.refusal,
    learned,
    onChange,
  });
  const probes = probe === "off" ? [] : listProbes(isOffered);
  const { call, ...exploration } = createExploration({
    ...options,
    client,
    learned,
    access,
    probes,
    onChange: notify,
  });
  return {
    access,
    exploration,
    call,
    noteListed: () => {
      isListed = true;
      onListed();
    },
  };
}

/** The same is not said twice in a row. */
function sayOnce(describe: () => string | undefined = () => undefined) {
  let said: string | undefined;
  return (isTime: () => boolean): string | undefined => {
    const text = describe();
    if (text === undefined || text === said || !isTime()) return undefined;
    said = text;
    return text;
  };
}

/** What other keys have done is shown to an owner whose key is not limited. */
function ownsAll(facts: KnownKey["facts"]): boolean {
  return facts !== undefined && hasRole(facts, "owner") && facts.scopes.length === 0;
}

export function printKey(key: string | undefined): string {
  return createHash("sha256")
    .update(`key ${key ?? ""}`)
    .digest("base64url");
}
