/** What one call knows of the person: whether they can be asked, and what they answered. */
export type Person = {
  /** Whether the client says that it can show a form. */
  readonly canAnswer: boolean;
  /** Whether the client says that it can open an address. */
  readonly canOpen: boolean;
  /** What came back with a repeated call: the approval token, and the person's answer. */
  readonly answer: Answer | undefined;
  /** The approval whose page was answered while this call waited for it. */
  readonly waited: string | undefined;
  /** What the client calls itself. */
  readonly client?: string | undefined;
  /** Where the links of the key's project live, or else the deployment. */
  readonly place?: string | undefined;
  /** The end of the key's id, or else the beginning of its print: it tells keys apart. */
  readonly key?: string | undefined;
};

/** Where nobody can be asked, and nobody has to be. */
export const nobodyToAsk = {
  canAnswer: false,
  canOpen: false,
  answer: undefined,
  waited: undefined,
} as const satisfies Person;

/** Who asks a person, as the person is told. */
export type Asker = Pick<Person, "client" | "place" | "key">;

export type Answer = {
  /** The approval token of the question, as a text. */
  readonly token: string | undefined;
  /**
   * Yes comes from a form alone. To have opened the page says nothing of what was pressed there,
   * and where nothing was said no person has seen the question.
   */
  readonly said: "yes" | "no" | "unticked" | "opened" | "nothing";
  /** The number that the person typed, where one was asked for. */
  readonly count?: number | undefined;
};

/** An approval's page, which the client is to open. */
export type Page = {
  readonly id: string;
  readonly url: string;
  /** Whether this call brought the news that the client has opened it. */
  readonly isOpened: boolean;
};

type Means = {
  /** A number that the person has to type, beside the yes. */
  readonly count?: number | undefined;
  /** Where it is not a form that asks. */
  readonly page?: Page;
};

/** Thrown to leave a tool before anything was done: the client is to ask its person first. */
export class PersonAsked extends Error {
  override readonly name = "PersonAsked";
  /** The approval token, as a text. */
  readonly token: string;
  readonly count: number | undefined;
  readonly page: Page | undefined;

  constructor(message: string, token: string, { count, page }: Means) {
    super(message);
    this.token = token;
    this.count = count;
    this.page = page;
  }
}
