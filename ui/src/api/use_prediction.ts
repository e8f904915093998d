import type { Prediction } from "./forecasts";
import { type Answered, useAnswer } from "./use_answer";

/** Prices in answers are per this number of steps. */
export const PRICED_STEPS = 1000;

interface Asked {
  asks?: boolean; // False: requests nothing.
  all?: boolean; // All known GPUs; otherwise the recorded one and current ones.
}

/** Returns the prediction for other GPUs, with prices if the trace has steps. */
export function usePrediction({ asks = true, all = false }: Asked = {}): Answered<Prediction> {
  const priced = useAnswer<Prediction>(
    asks ? `predict?total-steps=${PRICED_STEPS}${all ? "" : "&current=1"}` : null,
    true,
  );
  const plain = useAnswer<Prediction>(priced.error !== "" ? `predict${all ? "" : "?current=1"}` : null); // No steps.
  const answered = priced.answer !== null || priced.error === "" ? priced : plain;
  const abstained = answered.answer?.abstained[0];
  return abstained === undefined ? answered : { ...answered, answer: null, error: abstained.why };
}
