import type { Account } from "./account.ts";
import type { Html } from "./html.ts";

/** One page of the console, as it is listed in `pages.ts`: what it needs and what it answers. */
export type Page = {
  /** Of the whole path; its named groups are the visit's `params`. */
  readonly path: RegExp;
  /** How it is found from every other page; left out for those that are reached in another way. */
  readonly entry?: Entry;
  /** The tool without which it is not there; of several, one is enough. */
  readonly needs?: string | readonly string[];
  readonly show: (visit: Visit) => Promise<Reply>;
  /** Whether its form may come with a file. */
  readonly takesFile?: boolean;
  /** What its form asks for; left out where it has none. */
  readonly submit?: (visit: Visit, form: Form) => Promise<Reply>;
};

/** A page that the key may not use is not there. */
export function isThere({ needs }: Page, { mayUse }: Account): boolean {
  return needs === undefined || [needs].flat().some(mayUse);
}

type Entry = {
  readonly name: string;
  readonly address: string;
  /** Strokes on a square of 16. */
  readonly icon: string;
  /** Under which heading it stands; left out for what people do every day. */
  readonly group?: "Project" | "Service";
};

export type Visit = {
  readonly account: Account;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** Whether the browser is on this machine, as far as is known. */
  readonly isHere: boolean;
  /** Stands in each form. */
  readonly formToken: string;
  /** What was typed when the session was over, or before a no, to be shown again. */
  readonly kept: Form | undefined;
  /** Whether it was a no, and not the end of a session. */
  readonly isLeft?: boolean;
};

export type Form = {
  /** The first of that name; an empty text where there is none. */
  readonly read: (name: string) => string;
  readonly has: (name: string) => boolean;
  readonly entries: readonly (readonly [name: string, value: string])[];
  /** The file that was sent with it. */
  readonly upload: Upload | undefined;
};

export type Upload = { readonly name: string; readonly bytes: Uint8Array };

export type Reply =
  | {
      readonly kind: "page";
      readonly title: string;
      readonly body: Html;
      readonly status?: number;
      /** Whether pages of links are shown in it, each in a frame of its own. */
      readonly hasFrames?: boolean;
    }
  /** A page of links for such a frame: markup of others. */
  | { readonly kind: "frame"; readonly markup: string }
  /** Whoever loads the page again then does not do it again. */
  | { readonly kind: "go"; readonly to: string }
  | {
      readonly kind: "file";
      readonly type: string;
      readonly name: string;
      readonly bytes: Uint8Array;
    };

export function createForm(params: URLSearchParams, upload?: Upload): Form {
  return {
    read: (name) => params.get(name) ?? "",
    has: (name) => params.has(name),
    entries: [...params],
    upload,
  };
}
