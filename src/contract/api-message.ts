import type { Awaitable } from "./waiting.ts";

/**
 * The request and the reply of an API call, as plain data. HTTP carries them to a remote server,
 * and from other programs to our service. Within one process they are passed directly, because a
 * `Request` and a `Response` with streams cost more than the call itself.
 */
export type ApiRequest<Body = string> = {
  readonly method: string;
  readonly url: string;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Body | undefined;
  /** The sender's IP address, if the request arrived over a network. */
  readonly address?: string | undefined;
  /** The id of this request in the logs. */
  readonly requestId?: string | undefined;
  /** The part of Waypost that sent the request. Requests over a network cannot set it. */
  readonly via?: Via | undefined;
  /**
   * The request does not count against the key's rate limits. Requests over a network cannot set
   * it.
   */
  readonly isFree?: boolean | undefined;
  /** The reply is not urgent, so other writes go first. Requests over a network cannot set it. */
  readonly isPatient?: boolean | undefined;
  /**
   * Checks the key, its rights and its rate limit, then stops without counting the request.
   * Requests over a network cannot set it.
   */
  readonly onlyBudget?: boolean | undefined;
};

/** `console` marks requests from a person who works in the console. */
export type Via = "console";

/**
 * A request whose body may still be arriving. The body is read on demand, after the key was
 * checked.
 */
export type CarriedRequest = ApiRequest<string | ReadSent> & {
  /** Registers a callback for when the caller stops waiting for the reply. */
  readonly onLeave?: ((leave: () => void) => void) | undefined;
  /** Whether the caller has already stopped waiting. Checking this is cheaper than a callback. */
  readonly hasLeft?: (() => boolean) | undefined;
};

type ReadSent = (sender: Sender) => Promise<string>;

/** Without a valid secret key, a sender may send only a small body. */
export type Sender = "keyed" | "keyless";

export type ApiReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Data that becomes JSON, or the text of a page. Null means that the reply has no body. */
  readonly body: unknown;
};

/** Answers an API request; implemented by the service and by the carriers to remote servers. */
export type AnswerApi = (request: CarriedRequest) => Awaitable<ApiReply>;
