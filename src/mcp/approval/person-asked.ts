/** What one call knows of the person: whether they can be asked, and what they answered. */
export type Person = {
  /** Whether the client says that it can show a form. */
  readonly canAnswer: boolean;
  /** What came back with a repeated call: the approval token, and the person's answer. */
  readonly answer: Answer | undefined;
  /** The approval token that the assistant itself passes on, in two-step mode. */
  readonly token: string | undefined;
};

export type Answer = {
  /** The approval token of the question, as a text. */
  readonly token: string | undefined;
  /** True for a yes; anything else that came back is a no. */
  readonly isYes: boolean;
  /** The number that the person typed, where one was asked for. */
  readonly count?: number | undefined;
};

/** Thrown to leave a tool before anything was done: the client is to ask its person first. */
export class PersonAsked extends Error {
  override readonly name = "PersonAsked";
  /** The approval token, as a text. */
  readonly token: string;
  /** A number that the person has to type, beside the yes. */
  readonly count: number | undefined;

  constructor(message: string, token: string, count: number | undefined) {
    super(message);
    this.token = token;
    this.count = count;
  }
}
