/**
 * One request to the API and its reply, as plain data. Over the network both become what the
 * platform has for them; within one process they travel as they are, for a Request and a Response
 * with their streams cost more there than everything between them.
 */
export type ApiRequest = {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
};

export type ApiReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Plain data, which travels as JSON, or the text of a page; null where there is no body. */
  readonly body: unknown;
};
