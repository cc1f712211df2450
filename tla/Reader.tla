------------------------------ MODULE Reader -------------------------------
(***************************************************************************)
(* The reader: which file of a group is read where some commits are        *)
(* visible, and what is promised of what is read. Readers take no lock and *)
(* change nothing.                                                         *)
(***************************************************************************)
EXTENDS Table

\* The file of a group that is read where the commits requested at times are visible.
Versions(group, times) == {f \in world.files : f.group = group /\ f.requested \in times}

Slice(group, times) == CHOOSE f \in Versions(group, times) :
                           \A g \in Versions(group, times) : g.requested <= f.requested

Rows(group, times) == IF Versions(group, times) = {} THEN {} ELSE Slice(group, times).rows
Base(group, times) == IF Versions(group, times) = {} THEN NOTHING ELSE Slice(group, times).requested
Homes(key, times) == {g \in AllGroups : \E row \in Rows(g, times) : row[1] = key}

----------------------------------------------------------------------------
(* The action *)

\* Readers take no lock and change nothing: the invariants read at every time instead.
ReadSnapshot == UNCHANGED vars

----------------------------------------------------------------------------
(* The promises *)

Visible(time) == {c \in world.commits : c.requested <= time}
VisibleTimes(time) == {c.requested : c \in Visible(time)} \cup {t \in PendingInstants : t <= time}

Serial(time) ==
    UNION {{change \in c.changes :
                /\ change[2] # DELETED
                /\ \A d \in Visible(time) : d.requested > c.requested =>
                       \A other \in d.changes : other[1] # change[1]} : c \in Visible(time)}

ConsistentRead ==
    \A time \in Completed : UNION {Rows(g, VisibleTimes(time)) : g \in AllGroups} = Serial(time)

NoDuplicateKeys ==
    \A time \in Completed : \A g, h \in AllGroups :
        g # h => {row[1] : row \in Rows(g, VisibleTimes(time))}
                 \cap {row[1] : row \in Rows(h, VisibleTimes(time))} = {}
=============================================================================
