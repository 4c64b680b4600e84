/** An object as JSON has it, whose members nobody has looked at yet. */
export type JsonObject = Readonly<Record<string, unknown>>;
