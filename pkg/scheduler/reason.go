package scheduler

import "fmt"

// Reason says why a link was sent to rest, or woken. Reasons are numbers in
// records: a new one goes at the end.
type Reason uint8

// The reasons. Those up to ReasonInTime are for a Rest, the others for a Wake.
const (
	NoReason         Reason = iota
	ReasonBackup            // it is a backup, and another link serves
	ReasonCapped            // the bytes that it may carry are spent
	ReasonUnsized           // how much there is to carry is not known yet
	ReasonUnmeasured        // what the links at work can do is not known yet
	ReasonDear              // Action.Costs to wake it are not worth Action.Saves
	ReasonShare             // it has carried what EnergyEMTCP leaves to it
	ReasonInTime            // others meet the deadline for less
	ReasonNeeded            // no other link serves
	ReasonPays              // Action.Saves is worth Action.Costs
	ReasonDeadline          // without it the deadline may be missed
	ReasonRenewed           // more bytes may be carried than before
)

// Text says in words why a Rest or a Wake was asked for: "12.4 J to wake it, 6.5 J
// to save".
func (a *Action) Text() string {
	switch a.Why {
	case ReasonBackup:
		return "it is a backup"
	case ReasonCapped:
		return "its allowance of bytes is spent"
	case ReasonUnsized:
		return "the size is not known yet"
	case ReasonUnmeasured:
		return "what the others can do is not known yet"
	case ReasonShare:
		return "it has carried its share less 24 %"
	case ReasonInTime:
		return "others meet the deadline for less"
	case ReasonNeeded:
		return "no other link serves"
	case ReasonDear, ReasonPays:
		return a.tradeoff()
	case ReasonDeadline:
		return "without it the deadline may be missed"
	case ReasonRenewed:
		return "its allowance of bytes was renewed"
	case NoReason:
	}
	return ""
}

// tradeoff sets what waking costs against what it saves.
func (a *Action) tradeoff() string {
	wake := fmt.Sprintf("%.1f J to wake it", float64(a.Costs)/1e3)
	if a.Saves <= 0 {
		return wake + ", and every byte costs more"
	}
	return wake + fmt.Sprintf(", %.1f J to save", float64(a.Saves)/1e3)
}
