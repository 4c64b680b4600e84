import type { Clock } from "../../contract/clock.ts";
import { limits } from "../../contract/limits.ts";
import type { State } from "../../state/state.ts";

/** `client` is a digest: a client's name and version are texts of any length. */
type FormClient = { readonly key_print: string; readonly client: string };

/**
 * What is remembered of clients from call to call, whether or not they have sessions: some answer
 * a question by themselves, with no window to show it in.
 */
export type ClientMemory = {
  /** The question goes out now, with this token. */
  readonly noteAsked: (question: string, token: string) => void;
  readonly noteAnswered: (token: string) => void;
  /** Whether what has come back by now came sooner than any person reads. */
  readonly isTooSoon: (token: string) => boolean;
  /** Whether it came as late as from a client that gives up on a form it has not shown. */
  readonly isGivenUp: (token: string) => boolean;
  /** This client answers questions that nobody saw. */
  readonly noteUnseen: (client: string) => void;
  /** This client declares forms, and shows none. Every process of the folder or database knows. */
  readonly noteHidden: (client: FormClient) => Promise<void>;
  /**
   * `repeated` is a question that a 2026-07-28 call asks by form. Where the last such question was
   * left open for as long as clients wait, the form was not shown: no other sign reaches us.
   */
  readonly hidesForms: (client: FormClient, repeated: string | undefined) => Promise<boolean>;
  readonly hidesQuestions: (client: string) => boolean;
  /** This client has opened an approval's page: to ask it once more would only be in the way. */
  readonly noteOpened: (client: string, approval: string) => void;
  readonly hasOpened: (client: string, approval: string) => boolean;
};

const unseen_ms = 300;
/** A person may have given the client a window since. */
const hides_ms = 60 * 60_000;
/** Such clients cancel after a minute, which most of them count from an earlier moment than we. */
const givenUp_ms = 45_000;

type MemoryOptions = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly openState: () => Promise<Pick<State, "kept">>;
};

export function createClientMemory({ clock, openState }: MemoryOptions): ClientMemory {
  const asked = createRecent(clock);
  const unseen = createRecent(clock);
  const opened = createRecent(clock);
  const answered = createRecent(clock);
  /** The last token of each question. */
  const questions = new Map<string, string>();
  return {
    noteAsked: (question, token) => {
      asked.note(token);
      setLatest(questions, question, token);
    },
    noteAnswered: answered.note,
    isTooSoon: (token) => asked.readAge(token) <= unseen_ms,
    isGivenUp: (token) => {
      const age = asked.readAge(token);
      // A question that this process has not asked has no age.
      return age >= givenUp_ms && age < Infinity;
    },
    noteUnseen: unseen.note,
    noteHidden,
    hidesForms: async (client, repeated) => {
      if (repeated !== undefined && wasLeftOpen(repeated)) await noteHidden(client);
      const { kept } = await openState();
      return (await kept.find("hidden_form", writeKey(client))) !== undefined;
    },
    hidesQuestions: (client) => unseen.readAge(client) <= hides_ms,
    noteOpened: (client, approval) => opened.note(`${client} ${approval}`),
    hasOpened: (client, approval) => opened.readAge(`${client} ${approval}`) <= limits.approval_ms,
  };

  async function noteHidden(client: FormClient): Promise<void> {
    const { kept } = await openState();
    await kept.save("hidden_form", writeKey(client), true, { owner: client.key_print });
  }

  function wasLeftOpen(question: string): boolean {
    const token = questions.get(question);
    if (token === undefined || answered.readAge(token) < Infinity) return false;
    const age = asked.readAge(token);
    return age >= givenUp_ms && age <= limits.approval_ms;
  }
}

function writeKey({ key_print, client }: FormClient): string {
  return `${key_print} ${client}`;
}

/** What is pushed out is only asked once more, or taken for a person's no. */
const mostNotes = 1000;

function createRecent({ monotonic }: Pick<Clock, "monotonic">) {
  /** The latest stands last. */
  const times = new Map<string, number>();
  return {
    note: (name: string): void => setLatest(times, name, monotonic()),
    readAge: (name: string): number => monotonic() - (times.get(name) ?? -Infinity),
  };
}

/** Puts an entry last, and drops the first one of a map that is full. */
function setLatest<Value>(map: Map<string, Value>, name: string, value: Value): void {
  map.delete(name);
  map.set(name, value);
  const [first] = map.size > mostNotes ? map.keys() : [];
  if (first !== undefined) map.delete(first);
}
