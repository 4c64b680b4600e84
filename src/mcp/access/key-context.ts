import { createHash } from "node:crypto";
import type { Bulk } from "../../bulk/bulk.ts";
import type { Client, Sleep } from "../../client/client.ts";
import { hasRole, type KnownKey } from "../../contract/access.ts";
import type { Clock } from "../../contract/clock.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { TimeZone } from "../../contract/local-time.ts";
import { Problem } from "../../contract/problem.ts";
import type { PublicFiles } from "../../network/hosts/fetch-file.ts";
import type { History, Readers } from "../../state/history.ts";
import type { Scope } from "../../contract/rights.ts";
import type { Previews } from "./saved-previews.ts";
import { createAccess, type Access } from "./key-access.ts";
import { limitDestinations, type DestinationLimits } from "./limit-destinations.ts";
import {
  createExploration,
  createLearnedAccess,
  listProbes,
  type Exploration,
  type KeptAccess,
  type LearnedAccess,
} from "./remote-access.ts";

/** What all keys on one server share. */
type SharedContext = {
  /** The plans and jobs of all keys. Each key sees only its own. */
  readonly bulk: Bulk;
  /** The server's address. */
  readonly origin: string;
  /** Whether the server rejects a write if its target has changed since it was shown. */
  readonly checksConditions: boolean;
  /** The user's time zone. Without it, times stay in UTC. */
  readonly timeZone?: TimeZone | undefined;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Reads files of the project's own hosts as any visitor would. */
  readonly publicFiles: PublicFiles;
  /** The history of changes by all keys. */
  readonly openHistory: () => Promise<History>;
  /** Previews for the browser, below the address from `readListening`. */
  readonly openPreviews: () => Promise<Previews>;
  /** Writes a file for a client on the same machine; undefined if that fails. */
  readonly saveFile?: SaveFile | undefined;
  /** Whether the operator allows the action of this endpoint, in any tool. */
  readonly isActAllowed: (endpoint: Endpoint) => boolean;
  /**
   * Reads the address of links and pages; undefined if no process listens. The next `renew` updates
   * `known` accordingly.
   */
  readonly readListening: () => Promise<{ readonly url: string } | undefined>;
};

/** What one key may do and how its calls are sent. All calls with the key share it. */
export type KeyContext = SharedContext &
  DestinationLimits &
  Exploration & {
    readonly access: Access;
    /**
     * Calls the API, and learns from each response what the key may do. Throws for an address that
     * the operator does not allow.
     */
    readonly call: Client["call"];
    readonly requireBudget: Client["requireBudget"];
    /** The project, or else the server. Keys of one realm may see each other's changes. */
    readonly realm: string;
    /** Which changes the key may see: its own, or all of the project's. */
    readonly readers: Readers;
    /** Whether the server's ids may have another format than UUIDs. */
    readonly takesAnyId: boolean;
    /** Whether deleted links and apps are kept in a bin. */
    readonly keepsBin: boolean;
    /** The host of the project's links, if known. */
    readonly linkHost: string | undefined;
    /** A hash that identifies the key without revealing it. */
    readonly key_print: string;
    /** The key's id in the embedded service; empty for a remote server's key. */
    readonly key_id: string;
    /** As of the last `renew`. */
    readonly known: KnownKey;
    /** Whether the operator and the key allow the endpoint's tool, as far as is known. */
    readonly mayAsk: (endpoint: Endpoint) => boolean;
    /**
     * Records that a client has the current list of tools. From now on, clients are notified of
     * changes.
     */
    readonly noteListed: () => void;
    /**
     * Returns a note about link addresses if a result shows some, unless the note was shown before.
     */
    readonly takeAddressNote: (areShown: () => boolean) => string | undefined;
    /** Reads the key's current access from the embedded service. */
    readonly renew: () => Promise<void>;
  };

export type SaveFile = (
  type: "csv" | "json",
  texts: AsyncIterable<string>,
) => Promise<string | undefined>;

export type KeyContextOptions = SharedContext &
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
    /** A note about the addresses of links, if there is one. */
    readonly describeAddresses?: (() => string | undefined) | undefined;
    /** Reads the key again from the embedded service; undefined for a deleted key. */
    readonly lookUp: () => Promise<KnownKey | undefined>;
    /** Whether requests may find out what the key may do on a remote server. */
    readonly probe: "on" | "off";
    /** Where the results are stored; undefined if nothing is learned. */
    readonly openMemory?: (() => Promise<KeptAccess>) | undefined;
    readonly report: (error: unknown) => unknown;
  } & VisibleListeners;

/** Called when the list of tools may have changed. */
export type VisibleListeners = {
  /** The key's known access has changed. */
  readonly onChange: () => void;
  /** Either a client has the current list, or no client has one. */
  readonly onListed: () => void;
};

/** For a key without clients in this process. */
export const nobodyListens: VisibleListeners = { onChange: () => {}, onListed: () => {} };

export function createKeyContext(options: KeyContextOptions): KeyContext {
  const { client, key, scopes, destinations, isOffered, lookUp, onChange, ...shared } = options;
  const { onListed, openMemory, probe, ...sharedContext } = shared;
  const { origin, clock, report } = sharedContext;
  let { known } = options;
  const key_print = printKey(key);
  const limits = limitDestinations(destinations, () => known);
  const owner = `${key_print} ${origin}`;
  const learned = createLearnedAccess({ owner, openMemory, now: clock.now, report });
  const access = createAccess({
    hasKey: key !== undefined,
    scopes,
    isProbed: (list) => probe !== "off" && isOffered(list),
    facts: known.facts,
    refusal: known.refusal,
    learned,
    onChange,
  });
  let isListed = false;
  // Before the first list, changes need no notification.
  const notify = () => (isListed ? onChange() : onListed());
  const probes = probe === "off" ? [] : listProbes(isOffered);
  const readRealm = () => known.projectId ?? origin;

  return {
    ...sharedContext,
    ...limits,
    ...createExploration({ ...options, learned, access, probes, onChange: notify }),
    access,
    call: limitCalls(client.call, limits.requireAllowed, (endpoint, calling) =>
      access.canLearn() ? learnFrom(endpoint, calling, learned, notify) : calling,
    ),
    requireBudget: client.requireBudget,
    noteListed: () => {
      isListed = true;
      onListed();
    },
    key_print,
    // Only Waypost's own service is known to use UUIDs.
    takesAnyId: !options.checksConditions,
    get keepsBin() {
      return known.binDays !== undefined;
    },
    get linkHost() {
      return known.linkHost;
    },
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
    takeAddressNote: sayOnce(options.describeAddresses),
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

/** Sends only allowed writes, and learns from their responses. */
function limitCalls(
  send: Client["call"],
  requireAllowed: DestinationLimits["requireAllowed"],
  learn: <Answer>(endpoint: Endpoint, calling: Promise<Answer>) => Promise<Answer>,
): Client["call"] {
  return async (endpoint, input, signal, asked) => {
    // `Input` is an object of named fields.
    if (endpoint.effect !== "read") requireAllowed(endpoint, input as JsonObject, asked?.condition);
    return learn(endpoint, send(endpoint, input, signal, asked));
  };
}

/** Notes what the response of a remote server shows about the key. */
async function learnFrom<Answer>(
  endpoint: Endpoint,
  calling: Promise<Answer>,
  learned: LearnedAccess,
  onChange: () => void,
): Promise<Answer> {
  const before = learned.find(endpoint)?.state;
  try {
    const answer = await calling;
    learned.noteGranted(endpoint);
    return answer;
  } catch (error) {
    const isRefusal = error instanceof Problem && error.status === 401;
    if (isRefusal) learned.noteRefused(endpoint, error.message);
    throw error;
  } finally {
    void learned.write();
    if (learned.find(endpoint)?.state !== before) onChange();
  }
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

/** Only an owner's unlimited key sees the changes of other keys. */
function ownsAll(facts: KnownKey["facts"]): boolean {
  return facts !== undefined && hasRole(facts, "owner") && facts.scopes.length === 0;
}

export function printKey(key: string | undefined): string {
  return createHash("sha256")
    .update(`key ${key ?? ""}`)
    .digest("base64url");
}
