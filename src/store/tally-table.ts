/** What changes with every link write, kept apart from what people edit. */
export type TallyTable = {
  readonly project_id: string;
  readonly links: number;
  /** Goes up with every write to the project's links or apps: counted lists are valid for one. */
  readonly generation: number;
  /** Links up to this id are in the project's trigram index; null where there is none. */
  readonly indexed_to: string | null;
  /** Goes up when visits are written down: what was counted by clicks is valid for one. */
  readonly clicked: number;
  /** How many webhooks the project has: a write asks no further where it is none, or null. */
  readonly webhooks: number | null;
  /** At most so many bytes of events wait; more accurate after each measuring. */
  readonly outbox_bytes: number;
};
