/** The path from which the built command loads SQLite. */
export const packagedSqlite: Readonly<Record<string, string>>;
