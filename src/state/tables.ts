/** What Waypost remembers between calls and processes, as the database has it. */
export type StateTables = {
  approvals: {
    id: string;
    /** Of the act: key, tool, arguments, target and its state. */
    digest: string;
    channel: "page" | "sealed";
    /** An approval is used once its act went through, and told once the assistant knows the no. */
    status: "waiting" | "approved" | "used" | "declined" | "told";
    /** What a person is shown, as JSON. */
    preview: string;
    pin_tries: number;
    created_at: number;
    expires_at: number;
  };
  pin_tries: { at: number };
  secrets: { name: string; value: string };
};
