/** An object as JSON has it, whose members have not been checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;
