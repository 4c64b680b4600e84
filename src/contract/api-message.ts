import type { Awaitable } from "./awaitable.ts";

/**
 * The one seam between client and service: an API message in, an API message out, both plain data.
 * HTTP carries them to a deployment elsewhere, and from strangers to our own service. Within one
 * process they are handed over as they are, for a Request and a Response with their streams cost
 * more there than everything between them.
 */
export type ApiRequest<Body = string> = {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Body | undefined;
  /** Where it comes from, where it came over a network. */
  readonly address?: string | undefined;
  /** By what it is known in logs. */
  readonly requestId?: string | undefined;
  /** By which of our own ways it comes: no message that came over a network says it. */
  readonly via?: Via | undefined;
  /** Whether the key's budgets do not pay for it; no request that came over a network is free. */
  readonly isFree?: boolean | undefined;
  /** The reply is not urgent, so other writes go first. Requests over a network cannot set it. */
  readonly isPatient?: boolean | undefined;
  /**
   * Checks the key, its rights and its budget, charges nothing and does nothing else. No request
   * that came over a network can ask for this.
   */
  readonly onlyBudget?: boolean | undefined;
};

/** A person who works at the console, which is a process of ours. */
export type Via = "console";

/** Its body may still be arriving; it is read on demand, and never before the key was checked. */
export type CarriedRequest = ApiRequest<string | ReadSent> & {
  /** Has `leave` called if the caller does not wait for the reply any more. */
  readonly onLeave?: ((leave: () => void) => void) | undefined;
  /** Whether it has left by now: to look costs less than to be told. */
  readonly hasLeft?: (() => boolean) | undefined;
};

type ReadSent = (sender: Sender) => Promise<string>;

/** A sender without a valid secret key may send less than the holder of one. */
export type Sender = "holder" | "keyless";

export type ApiReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Plain data, which travels as JSON, or the text of a page; null where there is no body. */
  readonly body: unknown;
};

/** Whatever answers the API. */
export type AnswerApi = (request: CarriedRequest) => Awaitable<ApiReply>;
