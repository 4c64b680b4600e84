/** What changes with every link write, kept apart from what people edit. */
export type TallyTable = {
  readonly project_id: string;
  readonly links: number;
  /** Goes up with every write to the project's links or apps, which outdates counted lists. */
  readonly generation: number;
  /** Links up to this id are in the project's trigram index; null where there is none. */
  readonly indexed_to: string | null;
  /** Goes up when visits are stored, which outdates lists filtered by clicks. */
  readonly clicked: number;
  /** How many webhooks the project has; with 0, a write skips the webhook query. */
  readonly webhooks: number;
};
