/** Where the links and pages of a data folder open now, in whichever process of it listens. */
export type Listening = {
  /** Of the pages for a person: approvals, previews. Without a slash at its end. */
  readonly url: string;
  /** With `{subdomain}` in it; null where the links live elsewhere. */
  readonly links: string | null;
  /** Whether the settings' own port was taken, so that the next start may have another. */
  readonly isTemporary: boolean;
};

/** Undefined where nothing listens. */
export type ReadListening = () => Promise<Listening | undefined>;
