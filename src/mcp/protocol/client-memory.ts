import type { Implementation } from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { limits } from "../../contract/limits.ts";
import type { State } from "../../state/state.ts";
import { digestOf } from "../../text/digest.ts";

/**
 * What is remembered of clients from call to call, whether or not they have sessions: some answer
 * a question by themselves, with no window to show it in.
 */
export type ClientMemory = {
  readonly recall: (key_print: string, info: Implementation | undefined) => KnownClient;
};

/** One client of one key, by the name and version that it gives itself. */
type KnownClient = {
  /** The question goes out now, with this token. */
  readonly noteAsked: (question: unknown, token: string) => void;
  /**
   * Whether a person saw the question that this answers. `isEnded` says that the call, and so its
   * question, has ended. A client that shows no questions is remembered as such.
   */
  readonly hear: (reply: Reply, isEnded: boolean) => Promise<boolean>;
  /**
   * Whether it answers questions without showing them. `repeated` is a question that a 2026-07-28
   * call asks by form. If the last such question stayed open for as long as clients wait, the form
   * was not shown; no other sign would reveal that.
   */
  readonly hidesQuestions: (repeated: unknown) => Promise<boolean>;
  /** The client has opened an approval's page, and need not be asked to open it again. */
  readonly noteOpened: (approval: string) => void;
  readonly hasOpened: (approval: string) => boolean;
};

/** What a client answered; nothing where it failed to. */
export type Reply = {
  readonly to: "form" | "page";
  readonly token: string;
  readonly said: unknown;
  readonly action?: "accept" | "decline" | "cancel" | undefined;
  /** The client returned an error, reported its own timeout, or ended the call. */
  readonly failure?: "error" | "timeout";
};

const unseen_ms = 300;
/** A person may have given the client a window since. */
const hides_ms = 60 * 60_000;
/** Such clients cancel after a minute, which most of them count from an earlier moment than we. */
const givenUp_ms = 45_000;

/**
 * A question whose note is dropped may be asked once more, or its answer counts as a person's no.
 */
const mostNotes = 5000;

type MemoryOptions = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly openState: () => Promise<Pick<State, "kept">>;
};

export function createClientMemory({ clock, openState }: MemoryOptions): ClientMemory {
  /** By what happened, and to which client, question or approval; the latest comes last. */
  const notes = new Map<string, { readonly at: number; readonly token: string }>();

  function note(name: string, token = ""): void {
    notes.delete(name);
    notes.set(name, { at: clock.monotonic(), token });
    const [first] = notes.size > mostNotes ? notes.keys() : [];
    if (first !== undefined) notes.delete(first);
  }

  /** Infinite for what this process has not noted. */
  function readAge(name: string): number {
    return clock.monotonic() - (notes.get(name)?.at ?? -Infinity);
  }

  function wasLeftOpen(question: string): boolean {
    const age = readAge(question);
    const { token = "" } = notes.get(question) ?? {};
    return age >= givenUp_ms && age <= limits.approval_ms && !notes.has(`answered ${token}`);
  }

  function recall(key_print: string, info: Implementation | undefined): KnownClient {
    const client = digestOf([key_print, info?.name, info?.version]);
    const nameQuestion = (question: unknown) => `question ${digestOf([client, question])}`;

    /** Saved for every process that shares the data: each stdio session is a new process. */
    async function noteHidden(): Promise<void> {
      const { kept } = await openState();
      await kept.save("hidden_form", `${key_print} ${client}`, true, { owner: key_print });
    }

    return {
      noteAsked: (question, token) => {
        note(`asked ${token}`);
        note(nameQuestion(question), token);
      },
      hear: async ({ to, token, said, action, failure }, isEnded) => {
        const age = readAge(`asked ${token}`);
        note(`answered ${token}`);
        // A question that this process has not asked has no age.
        const isLate = age >= givenUp_ms && age < Infinity;
        const isGivenUp = isLate && (action === "cancel" || failure !== undefined);
        if (to === "form" && (failure === "timeout" || isGivenUp)) {
          await noteHidden();
          return false;
        }
        const isNo = said === undefined || action === "decline" || action === "cancel";
        if (!isNo || isEnded || age > unseen_ms) return true;
        note(`unseen ${client}`);
        return false;
      },
      hidesQuestions: async (repeated) => {
        if (readAge(`unseen ${client}`) <= hides_ms) return true;
        if (repeated !== undefined && wasLeftOpen(nameQuestion(repeated))) await noteHidden();
        const { kept } = await openState();
        return (await kept.find("hidden_form", `${key_print} ${client}`)) !== undefined;
      },
      noteOpened: (approval) => note(`opened ${client} ${approval}`),
      hasOpened: (approval) => readAge(`opened ${client} ${approval}`) <= limits.approval_ms,
    };
  }
  return { recall };
}
