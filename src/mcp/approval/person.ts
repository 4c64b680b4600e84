/** The person behind the client, as far as this one call can reach them. */
export type Person = {
  /** Whether the client says that it can show a form. */
  readonly canAnswer: boolean;
  /** What came back with a repeated call: our sealed state, and the person's answer. */
  readonly answer: Answer | undefined;
  /** The sealed approval that the assistant itself passes on, in two-step mode. */
  readonly token: string | undefined;
};

export type Answer = {
  readonly state: string | undefined;
  /** True for a yes; anything else that came back is a no. */
  readonly isYes: boolean;
};

/** Thrown to leave a tool before anything was done: the client is to ask its person first. */
export class PersonAsked extends Error {
  override readonly name = "PersonAsked";
  readonly state: string;

  constructor(message: string, state: string) {
    super(message);
    this.state = state;
  }
}
