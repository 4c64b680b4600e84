import { readCause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { listEndpoints } from "../../contract/index.ts";
import { findImplied, refusesAll } from "./denials.ts";

/** What a deployment's answers have taught of a key, each for its time. */
export type LearnedAccess = {
  readonly find: (endpoint: Endpoint) => Learned | undefined;
  readonly learn: (endpoint: Endpoint, found: Found) => void;
  /** Whether the key has turned out to be made for this kind of endpoint alone. */
  readonly hasKind: (auth: Endpoint["auth"]) => boolean;
  readonly isOtherKind: (endpoint: Endpoint) => boolean;
  /** What another endpoint was refused for, and this one demands as well. */
  readonly findImplied: (endpoint: Endpoint) => Learned | undefined;
  /** Returns the refusal when every one of these lists was refused because the key is invalid. */
  readonly findRefusal: (lists: readonly Endpoint[]) => string | undefined;
  /** Takes over what was learned earlier, where nothing was learned since. */
  readonly recall: (known: readonly KnownTool[]) => void;
  readonly forgetDenials: (isMeant: (tool: string) => boolean) => void;
};

export type KnownTool = {
  readonly tool: string;
  /** Unknown when the server's answer did not decide it; the server is not asked again. */
  readonly state: "granted" | "denied" | "unknown";
  /** The server's own words. */
  readonly reason: string | null;
  /** Whether the answer shows which kind of key it is. */
  readonly shows_kind: boolean;
  /** When it was learned, and until when it holds. */
  readonly at: number;
  readonly until: number;
};

export type Learned = KnownTool & {
  /** It tells nothing of the endpoint, which may be asked again. */
  readonly isOpen?: boolean;
};

type Found = Pick<Learned, "state" | "reason" | "shows_kind" | "isOpen">;

type Lesson = { readonly endpoint: Endpoint; readonly known: Learned };

export type LearnedOptions = {
  /** The time of day. */
  readonly now: () => number;
  /** Called when more is known than before: tools may have to be listed or hidden. */
  readonly onChange: () => void;
  /** Called with what is worth remembering. */
  readonly onLearned: (known: KnownTool) => void;
};

/** For how long an answer counts: a day. */
const holds_ms = 24 * 60 * 60_000;
/** What is met again sooner than this is not noted again. */
const noted_ms = 60 * 60_000;
const byTool = new Map(listEndpoints().map((endpoint) => [endpoint.tool, endpoint]));

export function createLearnedAccess(options: LearnedOptions): LearnedAccess {
  const { now, onChange, onLearned } = options;
  const learned = new Map<string, Learned>();

  function find({ tool }: Endpoint): Learned | undefined {
    const known = learned.get(tool);
    return known !== undefined && holds(known, now()) ? known : undefined;
  }

  function list(): readonly Lesson[] {
    const time = now();
    return [...learned.values()].flatMap((known) => {
      const endpoint = byTool.get(known.tool);
      return endpoint !== undefined && holds(known, time) ? [{ endpoint, known }] : [];
    });
  }

  function listKinds(): ReadonlySet<Endpoint["auth"]> {
    return new Set(
      list().flatMap(({ endpoint, known }) => (known.shows_kind ? endpoint.auth : [])),
    );
  }

  return {
    find,
    learn: (endpoint, found) => {
      const at = now();
      const before = find(endpoint);
      const isSame = before?.state === found.state && isLikewise(before, found);
      const shows_kind = found.shows_kind || (isSame && before.shows_kind);
      const isKindKnown = before?.shows_kind === true || !shows_kind;
      const isKindNew = !isKindKnown && !listKinds().has(endpoint.auth);
      const until = at + holds_ms;
      if (isSame && !isKindNew && until - before.until < noted_ms) return;
      const { isOpen = false, ...lasting } = {
        ...found,
        tool: endpoint.tool,
        shows_kind,
        at,
        until,
      };
      learned.set(endpoint.tool, { ...lasting, isOpen });
      if (!isOpen) onLearned(lasting);
      if (before?.state !== found.state || isKindNew) onChange();
    },
    hasKind: (auth) => listKinds().has(auth),
    isOtherKind: ({ auth }) => {
      const kinds = listKinds();
      return kinds.size === 1 && !kinds.has(auth);
    },
    findImplied: (endpoint) => findImpliedIn(list(), endpoint),
    findRefusal: (lists) => findRefusalIn(lists.map(find)),
    recall: (rows) => {
      const news = rows.filter(({ tool }) => !learned.has(tool));
      for (const known of news) learned.set(known.tool, known);
      if (news.length > 0) onChange();
    },
    forgetDenials: (isMeant) => {
      const time = now();
      const meant = [...learned.values()].filter(
        ({ tool, state }) => state === "denied" && isMeant(tool),
      );
      for (const { isOpen: _, ...known } of meant) {
        learned.delete(known.tool);
        onLearned({ ...known, state: "unknown", at: time, until: time });
      }
      if (meant.length > 0) onChange();
    },
  };
}

function findRefusalIn(found: readonly (Learned | undefined)[]): string | undefined {
  const reasons = found.map((known) => (known?.isOpen === true ? (known.reason ?? "") : ""));
  const isInvalid = reasons.every((reason) => readCause(reason) === "key_invalid");
  return isInvalid ? reasons[0] : undefined;
}

function findImpliedIn(all: readonly Lesson[], endpoint: Endpoint): Learned | undefined {
  const pick = (state: Learned["state"]) => all.filter(({ known }) => known.state === state);
  const denials = pick("denied").flatMap((denial) => {
    const reason = denial.known.reason ?? "";
    const cause = readCause(reason);
    return refusesAll(denial.endpoint, cause, reason) ? [{ ...denial, cause }] : [];
  });
  const granted = pick("granted").map((grant) => grant.endpoint);
  return findImplied(endpoint, denials, granted)?.known;
}

function isLikewise(one: Found, other: Found): boolean {
  return one.reason === other.reason && (one.isOpen === true) === (other.isOpen === true);
}

/** What lies in the future was learned before the clock was set back. */
function holds({ at, until }: Learned, time: number): boolean {
  return at <= time && time < until;
}
