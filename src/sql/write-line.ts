/** So many of those in a hurry may go before the patient ones. */
const mostPassings = 4;

/** Who waits to write, in the order they came: those in a hurry, and apart the patient ones. */
export type WriteLine<Writer> = {
  readonly add: (writer: Writer, isPatient: boolean) => void;
  /** Those who are next, to be taken off its beginning. */
  readonly choose: () => Writer[];
  /** All of them, who wait no longer then. */
  readonly takeAll: () => readonly Writer[];
  readonly isEmpty: () => boolean;
};

export function createWriteLine<Writer>(): WriteLine<Writer> {
  const hurried: Writer[] = [];
  const patient: Writer[] = [];
  let passings = 0;

  return {
    add: (writer, isPatient) => (isPatient ? patient : hurried).push(writer),
    // Those in a hurry are first, but nobody is passed over for ever.
    choose: () => {
      const arePatientNext =
        patient.length > 0 && (hurried.length === 0 || passings >= mostPassings);
      passings = arePatientNext || patient.length === 0 ? 0 : passings + 1;
      return arePatientNext ? patient : hurried;
    },
    takeAll: () => [...hurried.splice(0), ...patient.splice(0)],
    isEmpty: () => hurried.length + patient.length === 0,
  };
}
