import type { Awaitable } from "./waiting.ts";

/**
 * An API call's request and reply as plain data. Calls within one process pass them directly,
 * because building a `Request` and a `Response` with streams costs more than the call itself.
 */
export type ApiRequest<Body = string> = {
  readonly method: string;
  readonly url: string;
  /** Header names are lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Body | undefined;
  /** The sender's IP address, if the request arrived over a network. */
  readonly address?: string | undefined;
  /** The id of this request in the logs. */
  readonly requestId?: string | undefined;
  /** The part of Waypost that sent the request. Never set for requests over a network. */
  readonly via?: RequestSource | undefined;
  /** Exempts the request from the key's rate limits. Never set for requests over a network. */
  readonly isFree?: boolean | undefined;
  /** Lets more urgent writes run before this request. Never set for requests over a network. */
  readonly isPatient?: boolean | undefined;
  /**
   * The service only checks the key, its permissions and its rate limit. It neither runs nor counts
   * the request. Never set for requests over a network.
   */
  readonly onlyBudget?: boolean | undefined;
};

export type RequestSource = "console";

/** A request whose body may still be arriving. The body is read only after the key is checked. */
export type CarriedRequest = ApiRequest<string | ReadSent> & {
  /** Registers a callback that runs when the caller stops waiting for the reply. */
  readonly onLeave?: ((leave: () => void) => void) | undefined;
  /** Whether the caller has already stopped waiting. Checking this is cheaper than a callback. */
  readonly hasLeft?: (() => boolean) | undefined;
};

type ReadSent = (sender: Sender) => Promise<string>;

/** A sender without a valid secret key may send only a small body. */
export type Sender = "keyed" | "keyless";

export type ApiReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON value, or the text of an HTML page. Null means an empty body. */
  readonly body: unknown;
};

export type AnswerApi = (request: CarriedRequest) => Awaitable<ApiReply>;
