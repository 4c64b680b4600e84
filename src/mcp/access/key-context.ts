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
import type { Previews } from "../previews/preview-pages.ts";
import { createAccess, type Access } from "./key-access.ts";
import { limitDestinations, type DestinationLimits } from "./limit-destinations.ts";
import {
  createExploration,
  createLearnedAccess,
  listProbes,
  type Exploration,
  type AccessStorage,
  type LearnedAccess,
} from "./remote-access.ts";

/** Creates the context of a key: its access, its history and the way it calls the API. */

/** State that all keys of one server share. */
type SharedContext = {
  /** Plans and jobs. Each key can access only its own. */
  readonly bulk: Bulk;
  readonly origin: string;
  /** Whether the server checks preconditions, and so rejects a write if its target has changed. */
  readonly checksConditions: boolean;
  /** The user's time zone; UTC by default. */
  readonly timeZone?: TimeZone | undefined;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Fetches public files from the project's own hosts, as visitors would. */
  readonly publicFiles: PublicFiles;
  readonly openHistory: () => Promise<History>;
  readonly openPreviews: () => Promise<Previews>;
  /** Writes a file for a client on this machine. Returns its path, or undefined on failure. */
  readonly saveFile?: SaveFile | undefined;
  readonly isActAllowed: (endpoint: Endpoint) => boolean;
  /** Returns the base URL of the process that serves links and pages, if one is running. */
  readonly readListening: () => Promise<{ readonly url: string } | undefined>;
};

/** The state and functions for one API key, shared by all its connections. */
export type KeyContext = SharedContext &
  DestinationLimits &
  Exploration & {
    readonly access: Access;
    /**
     * Calls the API, and learns from each response what the key may do. Throws, before anything is
     * sent, if a write contains a forbidden destination.
     */
    readonly call: Client["call"];
    readonly requireBudget: Client["requireBudget"];
    /**
     * The project's ID or, if it is unknown, the server's origin. Keys of the same realm may be
     * allowed to read each other's changes in the history.
     */
    readonly realm: string;
    /** Which changes in the history the key may read: its own, or all in the realm. */
    readonly readers: Readers;
    /** Whether IDs that are not UUIDs are accepted. Remote servers may use them. */
    readonly takesAnyId: boolean;
    /** A hash that identifies the key without revealing it. */
    readonly key_print: string;
    /** The key's ID in the embedded service; empty for a remote server's key. */
    readonly key_id: string;
    /** The key's properties as of the last `renew`. */
    readonly known: KnownKey;
    /** Whether the operator offers the tool and the key is not known to lack access. */
    readonly mayAsk: (endpoint: Endpoint) => boolean;
    /**
     * Records that a client has read the list of tools. From then on, clients are notified when the
     * list changes.
     */
    readonly noteListed: () => void;
    /** Returns a note for a result that shows link URLs, unless the last note was the same. */
    readonly takeAddressNote: (areShown: () => boolean) => string | undefined;
    /** Updates the key's properties from the embedded service. */
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
    /** The hosts that the operator allows as destinations; any host by default. */
    readonly destinations?: readonly string[] | undefined;
    readonly isOffered: (endpoint: Endpoint) => boolean;
    readonly describeAddresses?: (() => string | undefined) | undefined;
    /** Reads the key's properties again. Returns undefined if they are unavailable. */
    readonly lookUp: () => Promise<KnownKey | undefined>;
    /** Whether probe requests are sent to a remote server to find out what the key may do. */
    readonly probe: "on" | "off";
    /** Opens the storage for learned access. Undefined if learned access is not stored. */
    readonly openMemory?: (() => Promise<AccessStorage>) | undefined;
    readonly report: (error: unknown) => unknown;
  } & VisibleListeners;

/** Callbacks for changes to the list of tools. */
export type VisibleListeners = {
  /** Called after Waypost has learned that the key's access has changed. */
  readonly onChange: () => void;
  /** Called when a client reads the tool list, and on access changes before the first read. */
  readonly onListed: () => void;
};

/** Listeners for a key that no client in this process uses. */
export const noListeners: VisibleListeners = { onChange: () => {}, onListed: () => {} };

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
  // Until a client has read the list of tools, changes to it need no notification.
  const notify = () => (isListed ? onChange() : onListed());
  const probes = probe === "off" ? [] : listProbes(isOffered);
  const readRealm = () => known.projectId ?? origin;

  return {
    ...sharedContext,
    ...limits,
    ...createExploration({ ...options, learned, access, probes, onChange: notify }),
    access,
    call: createCall({ ...limits, send: client.call, access, learned, onChange: notify }),
    requireBudget: client.requireBudget,
    noteListed: () => {
      isListed = true;
      onListed();
    },
    key_print,
    // Only the embedded service checks preconditions, and its IDs are always UUIDs.
    takesAnyId: !options.checksConditions,
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
    takeAddressNote: describeOnce(options.describeAddresses),
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

type CallParts = Pick<DestinationLimits, "requireAllowed"> & {
  readonly send: Client["call"];
  readonly access: Access;
  readonly learned: LearnedAccess;
  readonly onChange: () => void;
};

/**
 * Rejects writes with forbidden destinations, sends all other calls, and records what a remote
 * server's responses reveal about the key's access.
 */
function createCall({
  send,
  requireAllowed,
  access,
  learned,
  onChange,
}: CallParts): Client["call"] {
  return async (endpoint, input, signal, asked) => {
    const { effect, body } = endpoint;
    // Only the body of a write can add URLs.
    const addsAddresses = effect !== "read" && body !== undefined;
    if (addsAddresses) requireAllowed(endpoint, input as JsonObject, asked?.condition);
    if (!access.canLearn()) return send(endpoint, input, signal, asked);
    const before = learned.find(endpoint)?.state;
    try {
      const answer = await send(endpoint, input, signal, asked);
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
  };
}

/** Wraps `describe` so that it never returns the same text twice in a row. */
function describeOnce(describe: () => string | undefined = () => undefined) {
  let lastText: string | undefined;
  return (isNeeded: () => boolean): string | undefined => {
    const text = describe();
    if (text === undefined || text === lastText || !isNeeded()) return undefined;
    lastText = text;
    return text;
  };
}

/** Only an owner's key without scope limits can read the changes of other keys. */
function ownsAll(facts: KnownKey["facts"]): boolean {
  return facts !== undefined && hasRole(facts, "owner") && facts.scopes.length === 0;
}

export function printKey(key: string | undefined): string {
  return createHash("sha256")
    .update(`key ${key ?? ""}`)
    .digest("base64url");
}
